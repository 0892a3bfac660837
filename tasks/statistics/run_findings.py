"""The findings that a run left in the store."""

from __future__ import annotations

from assay.infra.errors import InputError
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.tasks.statistics.findings import Finding, findings_from


def findings_of(store: Store, record: RunRecord) -> list[Finding]:
    """The findings of a run."""
    import pyarrow as pa

    from assay.infra.parquet import read_parquet

    try:
        return findings_from(read_parquet(store.folder, f"runs/{record.id}/findings.parquet"))
    except FileNotFoundError:
        raise InputError(f"Run {record.id} has no findings: it is {record.status}.  (assay runs shows all)") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"The findings of run {record.id} are damaged ({error}); run it again.") from None
