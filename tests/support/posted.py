"""Parcels as whoever gets them sees them, without a run."""

import pyarrow as pa

from assay.infra.folders import Folder
from assay.infra.parcels import take_parcel
from assay.infra.parquet import write_part


def opened(sent: pa.Table, addressee: int) -> memoryview:
    """What the parcels of one partition hold for an addressee."""
    folder = Folder("memory://posted")
    return memoryview(take_parcel(folder, write_part(folder, "part", sent), addressee)[0])
