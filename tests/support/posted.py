"""Parcels as whoever gets them sees them, without a run."""

import pyarrow as pa

from assay.infra.stages.shuffle import take_parcel
from assay.infra.storage.folders import Folder
from assay.infra.storage.parquet import write_part


def opened(sent: pa.Table, addressee: int) -> memoryview:
    """What the parcels of one partition hold for an addressee."""
    folder = Folder("memory://posted")
    return memoryview(take_parcel(folder, write_part(folder, "part", sent), addressee)[0])
