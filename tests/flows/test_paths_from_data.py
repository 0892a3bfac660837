"""A file that data names outside its folder ends `assay run` and `assay check` with one sentence and exit code 2."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from door_keeper import run_directly
from hostile_paths import MARKER

import assay.data.catalog as catalog_module
from assay.data.catalog import CatalogEntry, CatalogFile, sha256_of
from assay.data.images import png
from assay.flows import running
from assay.flows.cli import answer

ROWS = "id,text,label,links,begs\n" + "".join(f"{row},some film {row},{'ab'[row % 2]},1,0\n" for row in range(8))
TABLE: dict[str, Any] = {"csv": "rows.csv", "id": "id", "label": "label"}
Project = Mapping[str, Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder beside which a secret lies; runs go without Prefect."""
    monkeypatch.setattr(running, "run_pipeline", run_directly)
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "400")
    (tmp_path / "project").mkdir()
    (tmp_path / "secret.txt").write_text(MARKER)
    (tmp_path / "secret.csv").write_text(f"id,label\n{MARKER},a\n")
    (tmp_path / "secret.png").write_bytes(png(np.zeros((1, 8, 8), np.float32)))
    (tmp_path / "project" / "rows.csv").write_text(ROWS)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def a_delta_log(folder: Path) -> Project:
    import pyarrow as pa
    from deltalake import write_deltalake

    write_deltalake(folder / "lake", pa.table({"id": ["1", "2"], "label": ["a", "b"]}))
    log = next((folder / "lake" / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        action.get("add", {})["path"] = "..%2F..%2Fsecret.parquet"
    log.write_text("\n".join(map(json.dumps, actions)))
    return {"source": {"parquet": "lake", "id": "id", "label": "label"}}


def a_column_of_images(folder: Path) -> Project:
    (folder / "t.csv").write_text("image,label\na.png,a\n../secret.png,b\n")
    (folder / "a.png").write_bytes(png(np.ones((1, 8, 8), np.float32)))
    return {"source": {"csv": "t.csv", "image": "image", "label": "label"}}


def an_export_of_label_studio(folder: Path) -> Project:
    (folder / "a.png").write_bytes(png(np.ones((1, 8, 8), np.float32)))
    tasks = []
    for number, path in enumerate(("a.png", "%2e%2e/secret.png")):
        given = {"from_name": "y", "to_name": "image", "type": "choices", "value": {"choices": ["ab"[number]]}}
        shown = {"image": f"/data/local-files/?d={path}"}
        tasks.append({"id": number, "data": shown, "annotations": [{"completed_by": 1, "result": [given]}]})
    (folder / "t.json").write_text(json.dumps(tasks))
    return {"source": {"label_studio": "t.json", "image": "image", "label": "y"}}


def a_folder_of_images(folder: Path) -> Project:
    for kind in "ab":
        (folder / "scans" / kind).mkdir(parents=True)
        (folder / "scans" / kind / "1.png").write_bytes(png(np.ones((1, 8, 8), np.float32)))
    (folder / "scans" / "a" / "2.png").symlink_to(folder.parent / "secret.png")
    return {"source": {"images": "scans"}}


def a_folder_of_tables(folder: Path) -> Project:
    (folder / "tables").mkdir()
    (folder / "tables" / "a.csv").write_text("id,label\n1,a\n2,b\n")
    (folder / "tables" / "b.csv").symlink_to(folder.parent / "secret.csv")
    return {"source": {"csv": "tables", "id": "id", "label": "label"}}


def a_model_of_hugging_face(folder: Path) -> Project:
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text('{"model_type": "bert"}')
    index = {"weight_map": {"w": str(folder.parent / "secret.safetensors")}}
    (folder / "model" / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "model" / "model-1.safetensors").write_bytes(b"\2\0\0\0\0\0\0\0{}")
    return {"source": TABLE, "subjects": [{"name": "m", "classifier": "model", "text": "text"}]}


def an_onnx_file(folder: Path) -> Project:
    content = b"\x08\x08" + b"\x8a\x00\x88\x00location" + b"\x12\x0d../secret.txt"
    (folder / "m.onnx").write_bytes(content)
    return {"source": TABLE, "subjects": [{"name": "m", "model": "m.onnx", "features": ["links", "begs"]}]}


def a_skops_file(folder: Path) -> Project:
    import skops.io
    from sklearn.linear_model import LogisticRegression

    packed = skops.io.dumps(LogisticRegression().fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"]))
    with zipfile.ZipFile(io.BytesIO(packed)) as given, zipfile.ZipFile(folder / "m.skops", "w") as made:
        inner = next(name for name in given.namelist() if name.endswith(".npy"))
        schema = given.read("schema.json").decode().replace(inner, "../secret.txt")
        made.writestr("schema.json", schema)
    return {"source": TABLE, "subjects": [{"name": "m", "model": "m.skops", "features": ["links", "begs"]}]}


@pytest.mark.parametrize(
    ("lay", "says"),
    [
        (a_delta_log, "The log of lake (parquet) names the file '../../secret.parquet', which leaves its folder"),
        (a_column_of_images, "t.csv row 3"),
        (an_export_of_label_studio, "the path '../secret.png' leaves its folder"),
        (a_folder_of_images, "leaves its folder through a symbolic link"),
        (a_folder_of_tables, "tables (csv) names the file 'b.csv', which leaves its folder through a symbolic link"),
        (a_model_of_hugging_face, 'The model.safetensors.index.json of "model" names the file'),
        (an_onnx_file, "keeps weights in another file"),
        (a_skops_file, 'The skops file "m.skops" cannot be read'),
    ],
)
def test_a_run_is_refused_in_a_sentence(
    folder: Path, lay: Callable[[Path], Project], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pipelines = {"pipelines": {"night": lay(folder)}, "compute": {"engine": "serial"}}
    (folder / "pipelines.yaml").write_text(json.dumps(pipelines))
    for arguments in (["check"], ["run", "night"]):
        code = answer(arguments)
        heard = capsys.readouterr()
        assert "Traceback" not in heard.out + heard.err
        assert MARKER not in heard.out + heard.err
    assert code == 2, heard.err
    assert says in heard.err
    kept = [file.read_bytes() for file in folder.rglob("*") if file.is_file() and not file.is_symlink()]
    assert not any(MARKER.encode() in content for content in kept)


def test_a_run_that_was_changed_in_the_store_is_refused_when_it_is_exported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weak = {
        "source": TABLE,
        "labeling": {"functions": "rules.py"},
        "weak_labels": {"labelers": ["majority"]},
        "ordering": {"datasets": 3},
    }
    rules = "import numpy as np\nCLASSES = ('a', 'b')\nfrom assay.tasks.labeling.rules import column_rule\n"
    rules += "".join(
        f"@column_rule\ndef r{n}(s): return (np.asarray(s['id']).astype(int) + {n}) % 2\n" for n in (0, 2, 4)
    )
    (folder / "rules.py").write_text(rules)
    (folder / "pipelines.yaml").write_text(json.dumps({"pipelines": {"night": weak}, "compute": {"engine": "serial"}}))
    assert answer(["run", "night"]) == 0, capsys.readouterr().err
    assert answer(["export", "latest", "--to", "right"]) == 0
    (store,) = (place.parent for place in folder.rglob("store.json"))
    for manifest in store.glob("stages/*/*/manifest.json"):
        value = json.loads(manifest.read_text())
        for file in (
            file for output in value["outputs"].values() for part in output["parts"] for file in part["files"]
        ):
            file["file"] = "../../secret.txt"
        manifest.write_text(json.dumps(value))
    capsys.readouterr()
    assert answer(["export", "latest", "--to", "wrong"]) == 2
    assert "is not a name inside" in capsys.readouterr().err
    assert not os.path.exists("wrong")


def test_an_entry_of_the_catalogue_brings_no_file_elsewhere(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = (folder.parent / "secret.txt").read_bytes()
    file = CatalogFile(name="../../secret.txt", bytes=len(content), sha256=sha256_of(content))
    entry = CatalogEntry(title="T", creator="C", source="S", licence="L", used_for="U", folder="tiny", files=(file,))
    monkeypatch.setattr(catalog_module, "catalog", lambda: {"tiny": entry})
    monkeypatch.setenv("ASSAY_DATA", str(folder / "data"))
    monkeypatch.delenv("ASSAY_MIRROR", raising=False)
    assert answer(["data", "get", "tiny"]) == 2
    assert "leaves its folder" in capsys.readouterr().err
