"""An export is a folder that pandas, Arrow and Hugging Face read in one line, and that says where it comes from."""

import hashlib
import io
import json
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from ruamel.yaml import YAML

from assay.data.images import image_columns
from assay.data.schemas import Classes, CuratedSets, Samples
from assay.flows.export.curated_sets import export_run, with_pictures
from assay.infra.errors import InputError
from assay.infra.stages.runs import Run
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.infra.storage.store import Store
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sources import resolve
from assay.tasks.ingest.task import ingest, keep_paths
from assay.tasks.statistics.findings import Finding, findings_table

N, SETS = 40, 4
EVIL = 'a | b <script> "x"\n---\nlicense: mine'


class Made(NamedTuple):
    samples: Artifact[Samples]
    classes: Artifact[Classes]


@stage(version=1, title="ingest")
def make_samples() -> Made:
    columns = {
        "id": [f"s{n}" for n in range(N)],
        "gold": pa.array([n % 2 if n < 30 else None for n in range(N)], pa.int16()),
        "mean age": [float(n) for n in range(N)],
        "label": [f"own {n}" for n in range(N)],
    }
    classes = {"code": pa.array([0, 1], pa.int16()), "name": ["benign", "malignant"]}
    return Made(write_table(pa.table(columns), into=Samples), write_table(pa.table(classes), into=Classes))


@stage(version=1, title="noise")
def make_noisy(samples: Artifact[Samples]) -> Artifact[Samples]:
    noisy = {"id": ["s0 with typos"], "gold": pa.array([0], pa.int16()), "noise_of": ["s0"]}
    return write_table(pa.table(noisy), into=Samples)


@stage(version=1, title="order")
def order_adversarially(samples: Artifact[Samples], labeler: str) -> Artifact[CuratedSets]:
    return write_table(an_order(flip=labeler == "snorkel").slice(N - min(N, samples.rows)), into=CuratedSets)


@stage(version=1, title="sketch")
def sketch_order(samples: Artifact[Samples], labeler: str) -> Artifact[CuratedSets]:
    return write_table(an_order(flip=labeler == "snorkel").slice(0, 3), into=CuratedSets)


def an_order(flip: bool) -> pa.Table:
    order = list(range(N))[:: -1 if flip else 1]
    columns = {
        "id": [f"s{n}" for n in order],
        "rank": range(N),
        "dataset": [1 + place * SETS // N for place in range(N)],
        "label": [(n // 2) % 2 for n in order],
        "confidence": [1 - place / N for place in range(N)],
        "lower": [0.9 - place / N for place in range(N)],
        "upper": [1.0] * N,
        "votes_cast": [5] * N,
        "gold": [n % 2 if n < 30 else None for n in order],
    }
    return pa.table(columns).cast(CuratedSets.schema).take(list(range(N))[::-1])


@pytest.fixture
def finished(make_run: Callable[..., Run]) -> tuple[Store, Run]:
    findings = [
        Finding(
            "ordering.trend_p",
            of="ours",
            group="majority",
            value=0.0005,
            p_value=0.0005,
            n=30,
            verdict="adverse",
            unit="p",
        ),
        Finding("ordering.spearman_tie_free", of="ours", group="majority", value=-0.98, n=30),
    ]
    with make_run("night") as run:
        made = make_samples()
        for labeler in ("majority", "snorkel"):
            order_adversarially(made.samples, labeler)
            sketch_order(made.samples, labeler)  # of the same kind, and nothing to hand out
        make_noisy(made.samples)
        run.record.settings = {"description": EVIL, "weak_labels": {"labelers": ["majority", "snorkel"]}}
        with run.store.folder.writing(f"runs/{run.id}/findings.parquet") as sink:
            pq.write_table(findings_table(findings), sink)
    return run.store, run


def test_every_set_is_the_beginning_of_the_order(finished: tuple[Store, Run], tmp_path: Path) -> None:
    store, run = finished
    said = export_run(store, run.record, tmp_path / "out")
    assert "D1 … D4 (10 … 40 samples, majority)" in said
    whole = pd.read_parquet(tmp_path / "out" / "curated.parquet")
    assert list(whole["rank"]) == list(range(N))
    for number in range(1, SETS + 1):
        one = pd.read_parquet(tmp_path / "out" / f"D{number}.parquet")
        assert list(one["id"]) == list(whole["id"])[: 10 * number]
        assert list(one.columns) == list(whole.columns)


def test_samples_bring_their_own_columns_and_classes_their_names(finished: tuple[Store, Run], tmp_path: Path) -> None:
    store, run = finished
    export_run(store, run.record, tmp_path / "out", labeler="snorkel")
    last = pq.read_table(tmp_path / "out" / "D1.parquet").to_pylist()[0]
    assert (last["id"], last["mean age"], last["feature_label"]) == ("s39", 39.0, "own 39")
    assert (last["label"], last["label_name"], last["gold"], last["gold_name"]) == (1, "malignant", None, None)


def test_what_an_audit_made_of_the_samples_is_no_part_of_the_set(finished: tuple[Store, Run], tmp_path: Path) -> None:
    store, run = finished
    export_run(store, run.record, tmp_path / "out")
    assert "noise_of" not in pq.read_table(tmp_path / "out" / "curated.parquet").column_names


def test_the_front_matter_names_one_existing_file_per_configuration(
    finished: tuple[Store, Run], tmp_path: Path
) -> None:
    store, run = finished
    export_run(store, run.record, tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    configurations = YAML(typ="safe").load(card.split("---\n", 2)[1])["configs"]
    assert [one["config_name"] for one in configurations] == ["curated", "D1", "D2", "D3", "D4"]
    assert [one["config_name"] for one in configurations if one.get("default")] == ["curated"]
    for one in configurations:
        [data_file] = one["data_files"]
        assert data_file["split"] == "test"
        assert (tmp_path / "out" / data_file["path"]).stem == one["config_name"]
        assert (tmp_path / "out" / data_file["path"]).is_file()


def test_hugging_face_reads_it_in_one_line(
    finished: tuple[Store, Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.setenv(name, "1")
    import datasets

    store, run = finished
    export_run(store, run.record, tmp_path / "out")
    loaded = datasets.load_dataset(str(tmp_path / "out"), "D2", split="test", cache_dir=str(tmp_path / "cache"))
    assert loaded["rank"][:] == list(range(20))
    assert datasets.get_dataset_config_names(str(tmp_path / "out")) == ["curated", "D1", "D2", "D3", "D4"]


def test_the_data_card_says_what_it_is_and_lets_nothing_break_out(finished: tuple[Store, Run], tmp_path: Path) -> None:
    store, run = finished
    export_run(store, run.record, tmp_path / "out", licence="CC-BY-4.0")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    _, front, body = card.split("---\n", 2)
    front_matter = YAML(typ="safe").load(front)
    assert (front_matter["license"], front_matter["pretty_name"]) == ("cc-by-4.0", "night, curated (majority)")
    assert "**The rules' labels get worse along the order (majority, p < 0.001).**" in body
    assert "| D1 | 10 | 50.0% | 10 |" in body
    assert "| D4 | 40 | 50.0% | 30 |" in body
    assert run.id in body
    assert all(stage.outputs["result"]["digest"] in body for stage in run.record.stages if stage.title == "order")
    assert "all were kept" in body
    assert "ordered by its lower end" in body
    assert "<script>" not in body
    assert "\nlicense: mine" not in card


def test_the_data_card_says_what_was_pruned_and_what_orders(finished: tuple[Store, Run], tmp_path: Path) -> None:
    store, run = finished
    run.record.settings |= {"pruning": {"correlation": 0.5}, "ordering": {"by": "entropy"}}
    export_run(store, run.record, tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "those that depend on each other were pruned" in card
    assert "ordered by how little the votes are divided (their entropy)" in card


# Beside what the lock has; mlcroissant wants pandas' stubs, which would change what mypy says of all of our code.
CROISSANTS_OWN = (
    "decorator==5.3.1 etils==1.15.0 isodate==0.7.2 jsonpath-rw==1.4.0 mlcroissant==1.1.1 ply==3.11 rdflib==7.6.0"
)
READ = """
import sys, mlcroissant
metadata = mlcroissant.Dataset(jsonld=sys.argv[1]).metadata
print(repr(metadata.ctx.issues.report()), sum(name.startswith("rai:") for name in metadata.to_json()))
"""


@pytest.mark.slow
def test_the_reference_library_of_croissant_has_nothing_to_object(finished: tuple[Store, Run], tmp_path: Path) -> None:
    store, run = finished
    export_run(store, run.record, tmp_path / "out", licence="CC-BY-4.0")
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = str(environment / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, *CROISSANTS_OWN.split()], check=True, timeout=240)
    (site,) = environment.glob("lib/*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    asked = [python, "-c", READ, str(tmp_path / "out" / "croissant.json")]
    read = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=240)
    assert read.stdout == "'' 5\n", read.stderr


def test_croissant_metadata_describes_every_file(finished: tuple[Store, Run], tmp_path: Path) -> None:
    store, run = finished
    export_run(store, run.record, tmp_path / "out", licence="CC-BY-4.0")
    metadata = json.loads((tmp_path / "out" / "croissant.json").read_text(encoding="utf-8"))
    croissant = "http://mlcommons.org/croissant"
    assert metadata["conformsTo"] == [f"{croissant}/1.0", f"{croissant}/RAI/1.0"]
    assert "majority combines the votes" in metadata["rai:dataAnnotationProtocol"]
    required = ("@context", "@type", "name", "description", "license", "url", "creator", "datePublished")
    assert all(metadata[key] for key in required)
    files = {file["@id"]: file for file in metadata["distribution"]}
    assert set(files) == {"curated.parquet", *(f"D{number}.parquet" for number in range(1, SETS + 1))}
    for name, file in files.items():
        content = (tmp_path / "out" / name).read_bytes()
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
        assert file["contentSize"] == f"{len(content)} B"
    identifiers = [entry["@id"] for record_set in metadata["recordSet"] for entry in (record_set, *record_set["field"])]
    assert len(set(identifiers)) == len(identifiers)
    assert not [one for one in identifiers if " " in one]
    for record_set in metadata["recordSet"]:
        file = record_set["field"][0]["source"]["fileObject"]["@id"]
        schema = pq.read_schema(tmp_path / "out" / file)
        assert [field["source"]["extract"]["column"] for field in record_set["field"]] == schema.names
        types = {field["name"]: field["dataType"] for field in record_set["field"]}
        assert (types["id"], types["rank"], types["lower"]) == ("sc:Text", "sc:Integer", "sc:Float")


def test_a_folder_that_is_not_empty_is_left_alone(finished: tuple[Store, Run], tmp_path: Path) -> None:
    store, run = finished
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="is there and not empty"):
        export_run(store, run.record, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_nothing_is_left_half_written(
    finished: tuple[Store, Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    store, run = finished
    monkeypatch.setattr("assay.flows.export.curated_sets.croissant", fail)
    with pytest.raises(InputError, match="No space left"):
        export_run(store, run.record, tmp_path / "deep" / "out")
    assert list((tmp_path / "deep").iterdir()) == []


def test_a_labeler_or_an_order_that_is_not_there_is_named(
    finished: tuple[Store, Run], tmp_path: Path, make_run: Callable[..., Run]
) -> None:
    store, run = finished
    with pytest.raises(InputError, match="no curated sets of the labeler oracle; it has majority, snorkel"):
        export_run(store, run.record, tmp_path / "out", labeler="oracle")
    with make_run("plain") as other:
        make_samples()
    with pytest.raises(InputError, match="no curated sets: its pipeline configures no ordering"):
        export_run(store, other.record, tmp_path / "out")
    other.record.settings, other.record.status = {"ordering": {"alpha": 0.05}}, "crashed"
    with pytest.raises(InputError, match="it ended before the ordering, as crashed"):
        export_run(store, other.record, tmp_path / "out")
    run.record.settings["ordering"] = {"alpha": 0.05}
    store.folder.remove("stages/order_adversarially")
    with pytest.raises(InputError, match="results of stage order are not in the store any more"):
        export_run(store, run.record, tmp_path / "out")


def test_without_gold_validity_is_not_measured(finished: tuple[Store, Run], tmp_path: Path) -> None:
    store, run = finished
    with store.folder.writing(f"runs/{run.id}/findings.parquet") as sink:
        pq.write_table(findings_table([]), sink)
    export_run(store, run.record, tmp_path / "out")
    assert "**Not measured**" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


def test_images_are_pictures_that_anybody_decodes(tmp_path: Path) -> None:
    pixels = np.arange(2 * 3 * 4 * 5, dtype=np.uint8).reshape(2, 3, 4, 5)
    table = pa.table({"id": ["cat/1.jpg", "b.csv:2"], "text": ["a", "b"], **image_columns(pixels)})
    pq.write_table(with_pictures(table, {"b.csv:2": "scans/dog 2.bmp"}), tmp_path / "sets.parquet")
    read = pq.read_table(tmp_path / "sets.parquet")
    assert read.column_names == ["id", "text", "image"]
    assert [cell["path"] for cell in read["image"].to_pylist()] == ["cat/1.jpg", "scans/dog 2.bmp"]
    decoded = [np.asarray(Image.open(io.BytesIO(cell["bytes"]))) for cell in read["image"].to_pylist()]
    assert np.array_equal(np.moveaxis(np.stack(decoded), -1, 1), pixels)
    assert json.loads(read.schema.metadata[b"huggingface"])["info"]["features"] == {"image": {"_type": "Image"}}


def test_images_that_a_table_names_keep_their_paths(make_run: Callable[..., Run], tmp_path: Path) -> None:
    (tmp_path / "scans").mkdir()
    lines = ["name,file,label"]
    for n in range(8):
        Image.fromarray(np.full((4, 4), 30 * n, np.uint8)).save(tmp_path / "scans" / f"of {n}.png")
        lines.append(f"s{n},scans/of {n}.png,{'ab'[n % 2]}")
    (tmp_path / "table.csv").write_text("\n".join([*lines, "s8,scans/nowhere.png,a", "s9,,b"]) + "\n")
    settings = Source.model_validate(
        {"csv": "table.csv", "id": "name", "image": "file", "label": "label", "max_rejects": 0.5}
    )
    with make_run("night", partitions=3) as run:
        source = resolve(settings, tmp_path)
        entered, paths = ingest(source, source.settings), keep_paths(source, source.settings)
        order_adversarially(entered.samples, "majority")
        run.record.settings = {"weak_labels": {"labelers": ["majority"]}}
        with run.store.folder.writing(f"runs/{run.id}/findings.parquet") as sink:
            pq.write_table(findings_table([]), sink)
    assert entered.samples.rows == 8
    assert paths.rows in (9, 10)  # an empty cell of a text file is a text
    export_run(run.store, run.record, tmp_path / "out")
    read = {row["id"]: row["image"] for row in pq.read_table(tmp_path / "out" / "curated.parquet").to_pylist()}
    assert {name: image["path"] for name, image in read.items()} == {f"s{n}": f"scans/of {n}.png" for n in range(8)}
    shown = {name: np.asarray(Image.open(io.BytesIO(image["bytes"]))) for name, image in read.items()}
    assert all((shown[f"s{n}"] == 30 * n).all() for n in range(8))
