"""Which fold a sample is in, and whether it is among those that train: both from its id alone."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

_FOLD, _DRAW = b"assay fold", b"assay train"  # two independent hashes of the same id
_RANGE = 1 << 64


def fold_of(ids: Iterable[str], folds: int) -> npt.NDArray[np.int16]:
    """The fold 0…folds−1 of each sample: a stable hash of its id, whatever the order, the partition or the others.

    >>> fold_of(["a", "b", "c"], 5).tolist() == fold_of(["c", "b", "a"], 5)[::-1].tolist()
    True
    """
    return (_hashes(ids, _FOLD) % np.uint64(folds)).astype(np.int16)


def drawn(ids: Iterable[str], share: float, seed: str) -> npt.NDArray[np.bool_]:
    """Which samples are in a seeded sample of about `share` of all: those whose hash falls below it.

    What is hashed may be an id, or a content: then copies are drawn together.

    >>> bool(drawn(["a", "b"], 1.0, "0").all())
    True
    """
    hashes = _hashes(ids, _DRAW, seed.encode())
    if share >= 1:
        return np.ones(len(hashes), dtype=np.bool_)
    return np.asarray(hashes < np.uint64(int(share * _RANGE)), dtype=np.bool_)


def _hashes(ids: Iterable[str], purpose: bytes, key: bytes = b"") -> npt.NDArray[np.uint64]:
    salted = blake2b(purpose + b"\0" + key + b"\0", digest_size=8)
    digests = bytearray()
    for sample in ids:
        hasher = salted.copy()
        hasher.update(sample.encode())
        digests += hasher.digest()
    return np.frombuffer(bytes(digests), dtype="<u8").astype(np.uint64)
