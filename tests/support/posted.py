"""Parcels as whoever gets them sees them, without a run."""

import pyarrow as pa

from assay.infra.stages.shuffle import take_parcels
from assay.infra.storage.folders import Folder
from assay.infra.storage.parquet import write_part


def opened(sent: pa.Table, addressee: int) -> memoryview:
    """What the parcels of one partition hold for an addressee."""
    folder = Folder("memory://posted")
    return take_parcels(folder, write_part(folder, "part", sent), range(addressee, addressee + 1))[0][0]
