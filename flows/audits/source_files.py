"""The files that a night took in, kept beside its record, so that the next one can say what has arrived since."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.infra.runs import Run
    from assay.infra.store import Store
    from assay.tasks.ingest.sources import ResolvedSource


def note_files(run: Run, source: ResolvedSource) -> None:
    """Write down which files were taken in, and say which of them are new, changed or gone since an earlier night."""
    from assay.tasks.ingest.arrivals import arrivals

    if source.given is not None or not run.is_night:
        return
    now = source.contents
    earlier = _latest(run.store, run)
    run.store.folder.write_json(_place(run.id), {"files": list(now.items())})
    if earlier is None:
        return
    name, before = earlier
    changes = arrivals(before, now)
    run.record.arrivals = f"{changes.in_words()} since run {name}"
    if changes:
        run.notice(f"{run.record.arrivals[0].upper()}{run.record.arrivals[1:]}.")


def _latest(store: Store, run: Run) -> tuple[str, dict[str, str]] | None:
    """The latest other night of the pipeline that took files in, and those files."""
    for record in reversed(store.runs(run.record.pipeline)):
        noted = None if record.id == run.id else store.folder.read_json(_place(record.id))
        if noted is not None:
            return record.id, {str(name): str(digest) for name, digest in noted["files"]}
    return None


def _place(run: str) -> str:
    return f"runs/{run}/source.json"
