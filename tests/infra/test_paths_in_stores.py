"""A manifest or a handle that somebody changed names nothing outside the store, and no name is taken for another."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hostile_paths import HOW_MANY, MARKER, Traps, require_nothing_of
from plumbing_workload import Numbers, Piece, make_numbers

from assay.data.schemas import SubjectFiles
from assay.flows.blame.hybrids import lay_out
from assay.infra.errors import AssayError, InputError
from assay.infra.stages.partitions import collect, map_pieces, read_files
from assay.infra.stages.stage import stage, write_files
from assay.infra.storage.artifacts import Artifact
from assay.infra.storage.store import Store


@stage(version=1)
def numbers() -> Artifact[Numbers]:
    return map_pieces(make_numbers, [Piece(0, 3)], into=Numbers)


@stage(version=1)
def weights() -> Artifact[SubjectFiles]:
    return write_files({"card.json": b"{}"}, into=SubjectFiles)


@pytest.mark.parametrize(
    ("made", "read"),
    [
        (numbers, lambda run, handle: collect(handle, None).to_pydict()),
        (weights, lambda run, handle: read_files(handle)),
        (weights, lambda run, handle: run.store.contents(run.store.output(handle))),
    ],
)
def test_no_manifest_leads_out(make_run: Any, tmp_path: Path, made: Callable[[], Any], read: Any) -> None:
    with make_run() as run:
        handle = made()
        assert read(run, handle)
    traps = Traps.lay(tmp_path / "traps", MARKER.encode(), ".parquet")
    place = tmp_path / "store" / handle.uri.partition("/store/")[2]
    manifest, plain = place.parent / "manifest.json", (place.parent / "manifest.json").read_text()
    (tmp_path / "store" / "linked").symlink_to(traps.secret.parent)
    named = json.loads(plain)["outputs"]["result"]["parts"][0]["files"][0]["file"]
    results = []
    with make_run() as run:
        for path in [*traps.paths(11), "linked/secret.parquet", 7, None, []]:
            manifest.write_text(plain.replace(json.dumps(named), json.dumps(path)))
            run.store._manifests.clear()
            with pytest.raises((AssayError, FileNotFoundError)) as refusal:
                results.append(read(run, handle))
            results.append(str(refusal.value))
        manifest.write_text(plain)
        run.store._manifests.clear()
        assert read(run, handle)
    assert len(results) == HOW_MANY + 4
    require_nothing_of(MARKER, results)


def test_no_handle_in_a_record_leads_out(make_run: Any, tmp_path: Path) -> None:
    with make_run() as run:
        handle = numbers()
        traps = Traps.lay(tmp_path / "traps", b"{}", "")
        for path in filter(None, traps.paths(12)):
            with pytest.raises(AssayError):
                run.store.output(replace(handle, uri=path))
            with pytest.raises(InputError):
                run.store.run(path)


def test_no_ingredient_of_a_record_is_laid_out_elsewhere(tmp_path: Path) -> None:
    traps = Traps.lay(tmp_path, MARKER.encode(), ".py")
    before = sorted(tmp_path.rglob("*"))
    for number, path in enumerate(traps.paths(13)):
        place = tmp_path / "laid" / str(number)
        try:
            lay_out(place, tmp_path / "nothing", {path: b"somebody's"})
        except (InputError, OSError) as refusal:
            require_nothing_of(MARKER, str(refusal))
    assert traps.secret.read_text() == MARKER
    assert [each for each in sorted(tmp_path.rglob("*")) if tmp_path / "laid" not in (each, *each.parents)] == before
    team = lay_out(tmp_path / "mine", tmp_path / "nothing", {"models/net.py": b"x", "./rules.py": b"y"})
    assert (team / "models" / "net.py").read_bytes() + (team / "rules.py").read_bytes() == b"xy"


@pytest.mark.parametrize("asked", ["/reports/night/index.html", "../night", "s3://bucket/night", "two\nlines"])
def test_words_that_name_no_file_name_no_run(tmp_path: Path, asked: str) -> None:
    with pytest.raises(InputError, match="There is no run "):
        Store(str(tmp_path)).open().run(asked)
