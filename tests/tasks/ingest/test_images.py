"""Images become samples from folders, paths, bytes and arrays, however they are cut; what does not fit is named."""

import io
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from pydantic import ValidationError

from assay.data.images import pixels_of
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect
from assay.tasks.ingest import layout as planning
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.source_files import hash_of_file
from assay.tasks.ingest.sources import resolve
from assay.tasks.ingest.task import Ingested, ingest

Reader = Callable[..., Any]
MakeRun = Callable[..., Any]


def levels(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape or (6, 8), np.uint8)


def write(path: Path, image: np.ndarray | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(image, bytes):
        path.write_bytes(image)
    else:
        Image.fromarray(image).save(path)
    return path


def png(image: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return buffer.getvalue()


def folder_of_classes(root: Path, each: int = 4) -> Path:
    for number, name in enumerate(("cat", "dog", "owl")):
        for image in range(each):
            write(root / name / f"{image:03d}.png", levels(100 * number + image))
    return root


def test_a_folder_of_classes_becomes_samples(read: Reader, tmp_path: Path) -> None:
    folder_of_classes(tmp_path / "scans")
    (tmp_path / "scans" / "cat" / "notes.txt").write_text("not an image")
    (tmp_path / "scans" / "cat" / ".hidden.png").write_bytes(b"")
    result = read(images="scans")
    assert result.classes == ("cat", "dog", "owl")
    assert result.samples.column_names == ["id", "gold", "image", "height", "width", "channels"]
    assert result.samples["id"].to_pylist()[:5] == [
        "cat/000.png",
        "cat/001.png",
        "cat/002.png",
        "cat/003.png",
        "dog/000.png",
    ]
    assert Counter(result.samples["gold"].to_pylist()) == {0: 4, 1: 4, 2: 4}
    pixels = pixels_of(result.samples)
    assert pixels.shape == (12, 1, 6, 8)
    assert np.array_equal(np.rint(pixels[5, 0] * 255), levels(101))
    assert read(images="scans/*/*.png").samples.equals(result.samples)


def test_folders_above_the_classes_are_the_split(read: Reader, tmp_path: Path) -> None:
    for part in ("train", "val", "Test"):
        folder_of_classes(tmp_path / "d" / part, 2)
    result = read(images="d", gold_in=["test"])
    assert Counter(result.samples["split"].to_pylist()) == {"train": 6, "valid": 6, "test": 6}
    assert result.samples["id"][0].as_py() == "Test/cat/000.png"
    known = {row["split"] for row in result.samples.select(["split", "gold"]).to_pylist() if row["gold"] is not None}
    assert known == {"test"}
    folder_of_classes(tmp_path / "d" / "more", 1)
    with pytest.raises(InputError, match=r"The folder Test is a part of the data, and more/cat/000\.png lies in none"):
        read(images="d")


def test_a_moved_folder_is_the_same_source_and_a_changed_image_is_not(tmp_path: Path) -> None:
    one, two = folder_of_classes(tmp_path / "one" / "scans"), folder_of_classes(tmp_path / "elsewhere" / "pictures")
    here, there = resolve(Source(images="scans"), one.parent), resolve(Source(images=str(two)), "/")
    assert here.fingerprint == there.fingerprint
    assert here.settings == there.settings == Source(images=("12 images",))
    write(two / "dog" / "001.png", levels(999))
    assert resolve(Source(images=str(two)), "/").fingerprint != here.fingerprint
    (one / "dog").rename(one / "wolf")
    assert resolve(Source(images=str(one)), "/").fingerprint != here.fingerprint


@pytest.mark.parametrize("write_table", ["csv", "parquet", "jsonl"])
def test_a_column_of_paths_starts_from_the_folder_of_its_table(read: Reader, tmp_path: Path, write_table: str) -> None:
    folder_of_classes(tmp_path / "d" / "scans", 2)
    rows = [(f"s{i}", f"scans/{name}/00{i % 2}.png", name) for i, name in enumerate(["cat", "cat", "dog", "owl"])]
    path = tmp_path / "d" / f"t.{write_table}"
    if write_table == "csv":
        path.write_text("key,file,kind\n" + "".join(",".join(row) + "\n" for row in rows))
    elif write_table == "jsonl":
        path.write_text("".join(f'{{"key": "{k}", "file": "{f}", "kind": "{c}"}}\n' for k, f, c in rows))
    else:
        columns = dict(zip(("key", "file", "kind"), map(list, zip(*rows, strict=True)), strict=True))
        pq.write_table(pa.table(columns), path)
    result = read(2, **{write_table: f"d/t.{write_table}"}, id="key", label="kind", image="file")
    assert result.samples["gold"].to_pylist() == [0, 0, 1, 2]
    assert np.array_equal(np.rint(pixels_of(result.samples)[2, 0] * 255), levels(100))


def test_the_content_of_images_that_a_table_names_belongs_to_the_source(tmp_path: Path) -> None:
    folder_of_classes(tmp_path, 1)
    (tmp_path / "t.csv").write_text("file\ncat/000.png\ndog/000.png\nlater.png\n")
    source = Source(csv="t.csv", image="file", classes=["a", "b"])
    before = resolve(source, tmp_path).fingerprint
    write(tmp_path / "owl" / "000.png", levels(7))
    assert resolve(source, tmp_path).fingerprint == before
    write(tmp_path / "later.png", levels(8))
    appeared = resolve(source, tmp_path).fingerprint
    write(tmp_path / "dog" / "000.png", levels(9))
    assert len({before, appeared, resolve(source, tmp_path).fingerprint}) == 3


@pytest.mark.parametrize("form", ["bytes", "struct", "nested", "fixed", "tensor", "floats"])
def test_a_parquet_column_of_images_in_every_form(read: Reader, tmp_path: Path, form: str) -> None:
    images = [levels(seed, 8, 8) for seed in range(5)]
    columns = {
        "bytes": pa.array([png(image) for image in images], pa.binary()),
        "struct": pa.array([{"bytes": png(image), "path": "x.png"} for image in images]),
        "nested": pa.array([image.tolist() for image in images], pa.list_(pa.list_(pa.uint8()))),
        "fixed": pa.array([image.ravel().tolist() for image in images], pa.list_(pa.uint8(), 64)),
        "tensor": pa.FixedShapeTensorArray.from_numpy_ndarray(np.stack(images)),
        "floats": pa.array([(image / np.float32(255)).tolist() for image in images], pa.list_(pa.list_(pa.float32()))),
    }
    pq.write_table(
        pa.table({"k": list("abcde"), "picture": columns[form], "y": [0, 1, 0, 1, 0]}), tmp_path / "a.parquet"
    )
    result = read(2, parquet="a.parquet", id="k", label="y", image="picture")
    assert result.rejects.num_rows == 0
    assert np.allclose(pixels_of(result.samples)[:, 0], np.stack(images) / 255, atol=1e-7)


@pytest.mark.parametrize("partitions", [1, 2, 5, 40])
def test_cuts_of_images_change_no_digest(make_run: MakeRun, tmp_path: Path, partitions: int) -> None:
    folder = folder_of_classes(tmp_path / "d", 7)
    write(folder / "cat" / "005.png", b"broken")
    write(folder / "dog" / "002.png", levels(3, 5, 5))
    source = resolve(Source(images="d", max_rejects=0.5, classes=["cat", "dog"]), tmp_path)  # an owl is no class

    def taken(store: str, **options: object) -> Ingested:
        with make_run(store=str(tmp_path / store), **options):
            result = ingest(source, source.settings)
            assert collect(result.contract, ["contract"])["contract"].to_pylist().count("images") == 5
            return result

    whole, cut = taken("whole"), taken("cut", partitions=partitions)
    assert cut.samples.partitions == partitions if partitions < 21 else cut.samples.partitions == 21
    assert (whole.samples.rows, whole.rejects.rows) == (12, 9)
    assert (cut.samples.digest, cut.rejects.digest) == (whole.samples.digest, whole.rejects.digest)


def test_images_are_planned_in_pieces_of_about_256(
    read: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(pa.table({"image": [png(levels(0))] * 600, "y": [0, 1] * 300}), tmp_path / "a.parquet")
    settings = {"parquet": "a.parquet", "label": "y", "image": "image"}
    assert len(read(**settings).pieces) == 3
    monkeypatch.setattr(planning, "PIECE_BYTES", 48 * 50)
    assert len(read(**settings).pieces) == 12  # an image takes 48 bytes once it is unpacked


def test_broken_images_are_rejected_by_name_with_the_reason(read: Reader, tmp_path: Path) -> None:
    root = folder_of_classes(tmp_path / "d", 3)
    jpeg = io.BytesIO()
    Image.fromarray(levels(0, 60, 80)).save(jpeg, "JPEG")
    write(root / "cat" / "corrupt.jpg", jpeg.getvalue()[:400])
    write(root / "cat" / "empty.png", b"")
    write(root / "dog" / "text.png", b"id,x\n")
    write(root / "dog" / "colour.png", levels(1, 6, 8, 3))
    write(root / "owl" / "wide.png", levels(1, 6, 9))
    result = read(images="d")
    assert result.samples.num_rows == 9
    reasons = {file: reason for file, _, _, reason in result.reasons}
    assert [row[1] for row in result.reasons] == [1] * 5
    assert "damaged or cut short" in reasons["cat/corrupt.jpg"]
    assert "empty" in reasons["cat/empty.png"]
    assert "no image of a known kind" in reasons["dog/text.png"]
    assert "in colour and the first one is grey" in reasons["dog/colour.png"]
    assert "6 x 9 (height x width) and the first one 6 x 8" in reasons["owl/wide.png"]


def test_pixels_bring_differing_images_to_one_shape(read: Reader, tmp_path: Path) -> None:
    root = folder_of_classes(tmp_path / "d", 2)
    write(root / "cat" / "wide.png", levels(1, 30, 90, 3))
    result = read(images="d", pixels={"size": 16, "channels": 3})
    assert result.rejects.num_rows == 0
    assert pixels_of(result.samples).shape == (7, 3, 16, 16)


def write_paths(folder: Path, *paths: str) -> None:
    folder_of_classes(folder, 2)
    (folder / "t.csv").write_text("file,y\ncat/000.png,a\n" + "".join(f'"{path}",b\n' for path in paths))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../secret.png", "leaves its folder"),
        ("cat/../../secret.png", "leaves its folder"),
        ("/etc/passwd", "leaves its folder"),
        ("s3://bucket/a.png", "leaves its folder"),
        ("cat/nowhere.png", "there is no such file"),
        ("cat", "cannot be read"),
        ("", "there is no image"),
        ("t.csv", "no image of a known kind"),
    ],
)
def test_a_path_that_leads_nowhere_or_away_is_rejected(read: Reader, tmp_path: Path, path: str, reason: str) -> None:
    write(tmp_path / "secret.png", levels(5))
    write_paths(tmp_path / "d", path)
    result = read(csv="d/t.csv", image="file", label="y", max_rejects=1)
    assert result.samples.num_rows == 1
    [(file, row, column, said)] = result.reasons
    assert (file, row, column) == ("t.csv", 3, "file")
    assert reason in said


def test_arrays_out_of_bounds_are_rejected_by_row(read: Reader, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"image": [[0.0, 0.5], [1.0, 0.5]], "y": 0}\n{"image": [[0.0, 1.5], [1.0, 0.5]], "y": 1}\n'
        '{"image": [[0.0, 0.5, 0.1], [1.0, 0.5, 0.2]], "y": 1}\n{"image": [[0.0, 0.5], [1.0]], "y": 0}\n'
        '{"image": null, "y": 0}\n{"image": [[0.1, 0.5], [1.0, 0.5]], "y": 1}\n'
    )
    result = read(jsonl="a.jsonl", label="y", image="image")
    assert [row[1] for row in result.reasons] == [2, 3, 4, 5]
    assert [row[3].split(",")[0] for row in result.reasons] == [
        "pixels lie in 0 to 1.5",
        "the image is 2 x 3 (height x width) and the first one 2 x 2; say `pixels: {size: ...}`",
        "the rows of the array have 1 to 2 numbers; an image has no gaps",
        "there is no image",
    ]
    assert result.samples["id"].to_pylist() == ["a.jsonl:1", "a.jsonl:6"]


def test_too_many_rejects_stop_the_run(run: Any, tmp_path: Path) -> None:
    root = folder_of_classes(tmp_path / "d", 3)
    write(root / "cat" / "broken.png", b"broken")
    source = resolve(Source(images="d"), tmp_path)
    with pytest.raises(InputError, match=r"^1 of 10 images below d do not fit, the first is cat/broken\.png \(the b"):
        ingest(source, source.settings)


def test_of_paths_in_a_table_that_lead_nowhere_the_whole_path_and_its_beginning_are_said(
    read: Reader, run: Any, tmp_path: Path
) -> None:
    folder_of_classes(tmp_path / "d" / "scans", 2)
    for name, files in (("none", ["cat/000.png", "dog/000.png"]), ("some", ["scans/cat/000.png", "dog/000.png"])):
        rows = [f"{path},{path.split('/')[-2]}\n" for path in files]
        (tmp_path / "d" / f"{name}.csv").write_text("file,kind\n" + "".join(rows))
    looked_for = re.escape(str(tmp_path / "d" / "cat" / "000.png"))
    said = rf"^None of the images of none\.csv can be read \(the first is none\.csv row 2, looked for at {looked_for}: "
    check(
        read,
        said + r"there is no such file\); paths in a table start from the folder that",
        csv="d/none.csv",
        image="file",
        label="kind",
    )
    source = resolve(Source(csv="d/some.csv", image="file", label="kind"), tmp_path)
    with pytest.raises(InputError, match=r"first in some\.csv row 3, column file \(there is no such file; paths in a "):
        ingest(source, source.settings)


def check(read: Reader, sentence: str, **settings: object) -> None:
    with pytest.raises(InputError) as caught:
        read(**settings)
    assert re.search(sentence, str(caught.value)), str(caught.value)
    assert str(caught.value).endswith((".", "?"))


def test_sources_of_images_that_cannot_be_are_one_sentence(read: Reader, tmp_path: Path) -> None:
    check(read, r"No image is found under nowhere \(images\)", images="nowhere")
    write(tmp_path / "d" / "loose.png", levels(0))
    check(read, r"loose\.png lies in no folder of a class", images="d")
    check(read, r"d/loose\.png \(images\) is a file; name the folder", images="d/loose.png")
    write(tmp_path / "e" / "cat" / "a.png", b"no")
    check(read, r"None of the images below e can be read \(the first is cat/a\.png: the bytes", images="e")
    folder_of_classes(tmp_path / "f", 1)
    (tmp_path / "f" / "owl").rename(tmp_path / "owl")
    (tmp_path / "f" / "dog").rename(tmp_path / "dog")
    check(read, "All gold labels .* are 'cat'; give `classes`", images="f")
    pq.write_table(pa.table({"id": ["a"], "x": [1], "height": [2], "i": [b"x"]}), tmp_path / "a.parquet")
    check(read, "has int64 in image column 'x'", parquet="a.parquet", image="x", classes=["a", "b"])
    check(read, "has no column 'picture', which `image` names", parquet="a.parquet", image="picture")
    check(read, "has a column 'height', .*image's own", parquet="a.parquet", id="id", image="i", classes=["a", "b"])
    check(read, "holds no images, and `pixels` is about", dataset="sample/breast-cancer", pixels={"size": 8})


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"images": "d", "label": "y"}, "label names a column, and a folder of images has none"),
        ({"images": "d", "csv": "a.csv"}, "here is csv and images"),
        ({"csv": "a.csv", "pixels": {"size": 8}}, "say which column holds them"),
        ({"csv": "a.csv", "label": "y", "labels": ["a", "b"]}, "give one of them"),
        ({"csv": "a.csv", "labels": ["a", "a"]}, "named twice in labels"),
    ],
)
def test_impossible_settings_of_images_are_refused(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        Source.model_validate(settings)


def test_embedded_images_come_in_and_take_pixels(read: Reader) -> None:
    digits = read(3, dataset="sample/digits")
    assert digits.samples.column_names == ["id", "gold", "split", "image", "height", "width", "channels"]
    assert pixels_of(digits.samples).shape == (1797, 1, 32, 32)
    assert digits.classes == tuple("0123456789")
    small = read(dataset="sample/digits", pixels={"size": 16, "channels": 3})
    assert pixels_of(small.samples).shape == (1797, 3, 16, 16)
    chest = read(dataset="sample/chest", gold_in=["test"])
    assert chest.samples.schema.field("labels").type == pa.list_(pa.int8())
    assert chest.samples["gold"].null_count == 1200
    marks = np.array(chest.samples["labels"].to_pylist())
    shown = np.array(chest.samples["split"].to_pylist()) == "test"
    assert (marks[~shown] == -1).all()
    assert (marks[shown] >= 0).all()


def test_files_are_hashed_once_while_they_stay(tmp_path: Path) -> None:
    path = write(tmp_path / "a.png", levels(0))
    before = hash_of_file(str(path))
    from assay.tasks.ingest.source_files import _hash_of_bytes

    hits = _hash_of_bytes.cache_info().hits
    assert hash_of_file(str(path)) == before
    assert _hash_of_bytes.cache_info().hits == hits + 1
