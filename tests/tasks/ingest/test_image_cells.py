"""Whatever file a table, a log or a folder names: nothing beside the folder is read, and no pipe is waited for."""

from __future__ import annotations

import base64
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hostile_paths import HOW_MANY, MARKER, Traps, require_nothing_of

from assay.data.images import pixels_of, png
from assay.infra.errors import InputError
from assay.tasks.ingest.file_search import delta_files
from assay.tasks.ingest.image_cells import referenced_images
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.source_files import hash_of_file, opened
from assay.tasks.ingest.sources import resolve

DARK, BRIGHT = 10, 201
"""The pixels of honest images, and of the secret one."""


def square(level: int) -> bytes:
    import numpy as np

    return png(np.full((1, 8, 8), level / 255, np.float32))


def parquet(*ids: str) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": list(ids), "label": ["a"] * len(ids)}), sink)
    return sink.getvalue()


def writable(paths: list[str]) -> list[str]:
    """Those that a text can hold."""
    return [path for path in paths if path.encode(errors="replace") == path.encode(errors="surrogatepass")]


def write_log(folder: Path, path: str) -> None:
    schema = {
        "type": "struct",
        "fields": [{"name": n, "type": "string", "nullable": True, "metadata": {}} for n in ("id", "label")],
    }
    form = {"provider": "parquet", "options": {}}
    about = {"id": "1", "format": form, "schemaString": json.dumps(schema), "partitionColumns": [], "configuration": {}}
    add = {"path": path, "partitionValues": {}, "size": 700, "modificationTime": 1, "dataChange": True}
    actions = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": about}, {"add": add}]
    (folder / "_delta_log").mkdir(exist_ok=True)
    (folder / "_delta_log" / f"{0:020}.json").write_text("\n".join(map(json.dumps, actions)))


def test_no_log_of_delta_leads_out(tmp_path: Path) -> None:
    traps = Traps.lay(tmp_path, parquet(MARKER), ".parquet")
    (traps.folder / "honest.parquet").write_bytes(parquet("mine"))
    results: list[object] = []
    for path in traps.paths(3):
        write_log(traps.folder, path)
        try:
            (file,) = delta_files(str(traps.folder), "lake")
            results.append(Path(file).read_bytes() if os.path.exists(file) else file)
        except InputError as refusal:
            results.append(str(refusal))
    assert len(results) == HOW_MANY
    require_nothing_of(MARKER, results)
    write_log(traps.folder, "sub%2f..%2fhonest.parquet")
    assert delta_files(str(traps.folder), "lake") == [f"{traps.folder}/honest.parquet"]


def test_no_checkpoint_of_delta_leads_out(tmp_path: Path) -> None:
    traps = Traps.lay(tmp_path, parquet(MARKER), ".parquet")
    write_log(traps.folder, "honest.parquet")
    results: list[object] = []
    log, kind = traps.folder / "_delta_log", f"{0:020}.checkpoint"
    for path in writable(traps.paths(4)):
        side = {"path": path, "sizeInBytes": 700, "modificationTime": 1}
        (log / f"{kind}.0.json").write_text(json.dumps({"sidecar": side}))
        try:
            results.append(delta_files(str(traps.folder), "lake"))
        except InputError as refusal:
            results.append(str(refusal))
    require_nothing_of(MARKER, results)
    assert sum("The checkpoint of lake names" in str(result) for result in results) > HOW_MANY / 2
    (log / f"{kind}.0.json").unlink()
    pq.write_table(
        pa.table({"sidecar": [None, {"path": "../../../outside/secret.parquet"}]}), log / f"{kind}.1.parquet"
    )
    with pytest.raises(InputError, match=r"The checkpoint of lake names the file '../../../outside/secret.parquet'"):
        delta_files(str(traps.folder), "lake")


@pytest.mark.parametrize("what", ["pipe", "link", "folder"])
def test_the_log_itself_is_files_of_the_table(tmp_path: Path, what: str) -> None:
    traps = Traps.lay(tmp_path, parquet(MARKER), ".parquet")
    write_log(traps.folder, "honest.parquet")
    log = traps.folder / "_delta_log"
    if what == "pipe":
        os.mkfifo(log / f"{1:020}.json")
    elif what == "link":
        (log / f"{1:020}.json").symlink_to(traps.secret)
    else:
        log.rename(traps.secret.parent / "log")
        log.symlink_to(traps.secret.parent / "log")
    with pytest.raises(InputError, match=r"is a named pipe|leaves its folder through a symbolic link"):
        delta_files(str(traps.folder), "lake")


def images_beside(place: Path) -> Traps:
    traps = Traps.lay(place, square(BRIGHT), ".png")
    (traps.folder / "honest.png").write_bytes(square(DARK))
    return traps


def require_only_dark(read: Any, rows: int) -> None:
    """The honest image was read, and every other row turned away with a reason."""
    assert read.samples.num_rows == 1
    assert {round(level * 255) for level in pixels_of(read.samples)[0].ravel().tolist()} == {DARK}
    assert len(read.reasons) == rows - 1
    assert all(reason for *_, reason in read.reasons)


@pytest.fixture(params=["parquet", "jsonl", "label_studio"])
def table_of(request: pytest.FixtureRequest) -> Callable[[Path, list[str]], dict[str, str]]:
    """A function that writes a table of paths in one of the forms, and says how a source names it."""

    def write(folder: Path, paths: list[str]) -> dict[str, str]:
        kind, labels = request.param, ["ab"[at % 2] for at in range(len(paths))]
        if kind == "parquet":
            pq.write_table(pa.table({"image": paths, "y": labels}), folder / "t.parquet")
            return {"parquet": "inside/t.parquet", "image": "image", "label": "y"}
        if kind == "jsonl":
            lines = [json.dumps({"image": path, "y": y}) for path, y in zip(paths, labels, strict=True)]
            (folder / "t.jsonl").write_text("\n".join(lines))
            return {"jsonl": "inside/t.jsonl", "image": "image", "label": "y"}
        tasks = []
        for number, (path, y) in enumerate(zip(paths, labels, strict=True)):
            given = {"from_name": "y", "to_name": "image", "type": "choices", "value": {"choices": [y]}}
            shown = {"image": f"/data/local-files/?d={quote(path)}" if number % 2 else f"/data/upload/{path}"}
            tasks.append({"id": number, "data": shown, "annotations": [{"completed_by": 1, "result": [given]}]})
        tasks[0]["data"] = {"image": "/data/local-files/?d=honest.png"}
        (folder / "t.json").write_text(json.dumps(tasks))
        return {"label_studio": "inside/t.json", "image": "image", "label": "y"}

    return write


def test_no_column_of_images_leads_out(read: Any, tmp_path: Path, table_of: Any) -> None:
    traps = images_beside(tmp_path)
    paths = ["honest.png", *writable(traps.paths(5, HOW_MANY + 10))][: HOW_MANY + 1]
    source = table_of(traps.folder, paths)
    require_only_dark(read(**source, max_rejects=1), len(paths))
    found = referenced_images(resolve(Source.model_validate(source), tmp_path))
    assert hash_of_file(str(traps.secret)) not in {content for *_, content in found}


def test_no_link_in_a_folder_of_images_leads_out(read: Any, tmp_path: Path) -> None:
    (tmp_path / "scans" / "a").mkdir(parents=True)
    traps = images_beside(tmp_path / "beside")
    (tmp_path / "scans" / "a" / "honest.png").write_bytes(square(DARK))
    for number in range(HOW_MANY):
        link = tmp_path / "scans" / f"class{number % 7}" / f"{number}.png"
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(
            [traps.secret, os.path.relpath(traps.secret, link.parent), traps.folder / "link.png"][number % 3]
        )
    (tmp_path / "scans" / "whole").symlink_to(traps.secret.parent)
    require_only_dark(read(images="scans", max_rejects=1), HOW_MANY + 2)


@pytest.mark.parametrize("named", ["tables", "tables/*.csv"])
def test_no_link_in_a_folder_of_tables_leads_out(read: Any, tmp_path: Path, named: str) -> None:
    traps = Traps.lay(tmp_path, f"id,label\n{MARKER},a\n".encode(), ".csv")
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "honest.csv").write_text("id,label\n1,a\n2,b\n")
    (tmp_path / "tables" / "within.csv").symlink_to("honest.csv")
    for name in link_names(HOW_MANY):
        link = tmp_path / "tables" / f"{name}.csv"
        link.symlink_to(traps.secret)
        with pytest.raises(InputError, match=r"tables.* leaves its folder") as refusal:
            read(csv=named, id="id", label="label")
        require_nothing_of(MARKER, str(refusal.value))
        link.unlink()
    (tmp_path / "tables" / "within.csv").unlink()
    assert read(csv=named, id="id", label="label").samples.num_rows == 2
    (tmp_path / "named.csv").symlink_to(traps.secret)  # a person wrote this name
    assert read(csv="named.csv", id="id", label="label", classes=["a", "b"]).samples.num_rows == 1


def link_names(count: int) -> Iterator[str]:
    """Names of files, many of them odd."""
    odd = ["x..%2Fx", "%2e%2e", "a b", "C:", "x\\..", "a:b", "~", "{x}", "-", "😀", "x" * 200, " ..", "file:"]
    return (f"{odd[number % len(odd)]}{number}" for number in range(count))


def test_the_name_inside_a_zip_leads_nowhere(tmp_path: Path) -> None:
    traps = Traps.lay(tmp_path, MARKER.encode(), ".csv")
    for path in writable(traps.paths(6)):
        with zipfile.ZipFile(traps.folder / "t.csv.zip", "w") as packed:
            packed.writestr(path.partition("\0")[0].rstrip("/") or "x", "id\n1\n")
        with suppress(InputError), opened(str(traps.folder / "t.csv.zip"), "t.csv.zip") as file:
            assert file.read() == b"id\n1\n"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["inside", "outside"]


def test_an_image_as_an_address_of_its_own_is_no_path(read: Any, tmp_path: Path) -> None:
    traps = images_beside(tmp_path)
    inline = f"data:image/png;base64,{base64.b64encode(square(BRIGHT)).decode()}"
    pq.write_table(pa.table({"image": ["honest.png", inline], "y": ["a", "b"]}), traps.folder / "t.parquet")
    require_only_dark(read(parquet="inside/t.parquet", image="image", label="y", max_rejects=1), 2)
