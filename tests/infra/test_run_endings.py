"""However a run ends, it lets go of what it holds."""

from __future__ import annotations

import pytest


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
