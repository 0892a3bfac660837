"""However a run ends, it lets go of what it holds."""

from __future__ import annotations

import errno
import os

import pytest

from assay.infra.errors import InputError


class Held:
    """An engine that can only be closed."""

    closed = False
    notices: tuple[str, ...] = ()

    def close(self) -> None:
        """Remember it."""
        self.closed = True


def test_a_run_whose_record_cannot_be_written_closes_its_engine_and_gives_its_lease_back(make_run, monkeypatch):
    run, engine = make_run(), Held()
    run._open_engine = lambda: engine

    def full(*_: object) -> None:
        raise OSError("No space left on device")

    run.__enter__()
    assert run.engine is engine
    assert run.store.folder.sizes("leases")
    monkeypatch.setattr(run.store, "save_run", full)
    with pytest.raises(OSError, match="No space left"):
        run.__exit__(None, None, None)
    assert engine.closed
    assert not run.store.folder.sizes("leases")


def test_a_notice_is_said_and_kept_once(make_run):
    with make_run() as run:
        run.notice("One model is not defended.")
        run.notice("One model is not defended.")
    assert run.record.notices == ["One model is not defended."]


def test_a_store_that_becomes_read_only_midway_is_said_in_a_sentence(make_run, monkeypatch):
    run = make_run()
    file_system = type(run.store.folder.fs)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    def become_read_only() -> None:
        for place, name in ((os, "replace"), (os, "rename"), (os, "link"), (os, "unlink"), (file_system, "rm")):
            changed.setattr(place, name, refuse)
        run.store.folder.create("a/claim", b"")

    with monkeypatch.context() as changed:
        with pytest.raises(InputError, match=r"Cannot write to .*: read-only file system\. Choose a folder"), run:
            become_read_only()
        with pytest.raises(InputError, match="read-only file system"):
            run.store.folder.remove("runs")
        assert run.store.run(run.id).status == "running", "what was written last is kept"
