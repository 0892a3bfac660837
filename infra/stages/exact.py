"""What gives the same result in any order and cut: draws seeded by sample, and counts and sums that merge exactly, as
JSON where they are kept.

Float sums in completion order, or over other partitions, differ in the last bits; integers, sets, least, greatest and
`ExactSum` do not. Divide once, at the end.
"""

from __future__ import annotations

import base64
import hashlib
import heapq
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from assay.infra.errors import InputError


@dataclass(frozen=True)
class Seeds:
    """The random draws of one stage of a run.

    >>> seeds = Seeds(run_seed=0, stage="prune")
    >>> seeds.generator("patient-7").random() == Seeds(0, "prune").generator("patient-7").random()
    True
    >>> seeds.generator("patient-7").random() == seeds.generator("patient-8").random()
    False
    """

    run_seed: int
    stage: str

    def generator(self, sample_id: str | None = None) -> np.random.Generator:
        """A fresh generator for one sample, or for the stage as a whole; asked twice, it draws the same again."""
        return np.random.Generator(np.random.Philox(key=int.from_bytes(self._hash(sample_id, 16), "little")))

    def generators(self, sample_ids: Iterable[str]) -> Iterator[np.random.Generator]:
        """The generator of each sample in turn, good until the next is asked for: one object, which is set anew a
        dozen times as fast as another is made."""
        philox = np.random.Philox(key=0)
        state, generator = philox.state, np.random.Generator(philox)
        for sample_id in sample_ids:
            state["state"]["key"] = np.frombuffer(self._hash(sample_id, 16), "<u8")
            philox.state = state
            yield generator

    def integer(self, sample_id: str | None = None, *, bits: int = 32) -> int:
        """A seed for libraries that want a number: scikit-learn takes 32 bits, Torch up to 63."""
        return int.from_bytes(self._hash(sample_id, 8), "little") >> (64 - bits)

    def _hash(self, sample_id: str | None, size: int) -> bytes:
        """BLAKE2b of the three parts, spelt so that no two triples look alike."""
        spelt = json.dumps([self.run_seed, self.stage, sample_id])
        return hashlib.blake2b(spelt.encode(), digest_size=size, person=b"assay.seeds").digest()


Integers: TypeAlias = npt.NDArray[np.int64]
V = TypeVar("V")

_SHIFT = 1126  # every float64 is a whole multiple of 2^-1074; 52 bits more, since a mantissa is read as 53 bits
_ROWS = 2**25  # so many half mantissas (at most 2^27) add up exactly in a float64
_INT64 = np.iinfo(np.int64)


@dataclass(frozen=True)
class Extreme:
    """One of comparable values (numbers, texts, tuples of them); of equal ones the smaller spelling."""

    value: Any  # whatever compares with itself

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _comparable(self.value))


class Least(Extreme):
    """The smallest of comparable values.

    >>> merge(Least((3, "b")), Least((3, "a"))).value
    (3, 'a')
    """


class Greatest(Extreme):
    """The greatest of comparable values."""


@dataclass(frozen=True)
class ExactSum:
    """A sum of floats without rounding: one big integer in units of 2^-1126. Equals `math.fsum` of all that went in.

    >>> total = merge(ExactSum.of([1e100, 1.0]), ExactSum.of([-1e100]))
    >>> total.value()
    1.0
    """

    units: int = 0

    @classmethod
    def of(cls, values: npt.ArrayLike) -> ExactSum:
        """The sum of an array (any shape) of floats or integers; NaN and infinity are refused."""
        flat = np.asarray(values).reshape(-1)
        if flat.dtype.kind in "iub":
            return cls(sum(flat.tolist()) << _SHIFT)
        if flat.dtype.kind != "f" or flat.dtype.itemsize > 8:
            raise TypeError(f"ExactSum adds floats of at most 64 bits and integers, not {flat.dtype}")
        finite = np.isfinite(flat)
        if not finite.all():
            at = int(np.argmin(finite))
            raise InputError(
                f"value {at} of {flat.size} to be summed is {flat[at]}: a sum needs finite numbers; "
                "drop or replace it before"
            )
        chunks = (flat[start : start + _ROWS] for start in range(0, flat.size, _ROWS))
        return cls(sum(_units(chunk.astype(np.float64)) for chunk in chunks))

    def value(self) -> float:
        """The sum, correctly rounded, once."""
        try:
            return self.units / (1 << _SHIFT)
        except OverflowError as error:
            raise OverflowError("an exact sum is beyond the greatest float: scale the values down first") from error

    def __add__(self, other: ExactSum) -> ExactSum:
        return ExactSum(self.units + other.units)


@dataclass(frozen=True)
class Smallest:
    """So many of the smallest of comparable values, ascending: of all that went in, whatever came with what.

    >>> merge(Smallest.of([5, 1, 9], 2), Smallest.of([3], 2)).values
    (1, 3)
    >>> merge(Smallest.of([1, 5, 1], 2, differing=True), Smallest.of([1], 2, differing=True)).values
    (1, 5)
    """

    values: tuple[Any, ...]
    most: int
    differing: bool = False
    """Whether a value that comes several times stands here once."""

    @classmethod
    def of(cls, values: Iterable[Any], most: int, differing: bool = False) -> Smallest:
        """The smallest of these, `most` of them or all that there are."""
        comparable = map(_comparable, values)
        return cls(tuple(heapq.nsmallest(most, set(comparable) if differing else comparable)), most, differing)

    def __add__(self, other: Smallest) -> Smallest:
        if (self.most, self.differing) != (other.most, other.differing):
            raise TypeError(f"the {self.most} smallest and the {other.most} smallest cannot be merged")
        return Smallest.of((*self.values, *other.values), self.most, self.differing)


@dataclass(frozen=True, eq=False)
class SparseSum:
    """Whole numbers that add up place by place, of which only those that are not 0 are kept.

    >>> total = merge(SparseSum.of([7, 2, 7], [1, 5, 2]), SparseSum.of([2, 9], [1, 4]))
    >>> total.places.tolist(), total.values.tolist()
    ([2, 7, 9], [6, 3, 4])
    """

    places: Integers  # ascending, each once
    values: Integers

    @classmethod
    def of(cls, places: npt.ArrayLike, values: npt.ArrayLike) -> SparseSum:
        """The sum of these values at these places, in any order; a place may stand there several times."""
        at, counted = _int64(np.asarray(places), "the places"), _int64(np.asarray(values), "the values")
        order = np.argsort(at, kind="stable")  # two runs that are sorted already, as in a merge, cost one pass
        at, counted = at[order], counted[order]
        first = np.flatnonzero(np.diff(at, prepend=at[:1] - 1)) if len(at) else np.zeros(0, dtype=np.int64)
        summed = np.add.reduceat(counted, first) if len(at) else counted
        kept = summed != 0
        return cls(at[first][kept], summed[kept])

    def __add__(self, other: SparseSum) -> SparseSum:
        return SparseSum.of(np.concatenate([self.places, other.places]), np.concatenate([self.values, other.values]))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SparseSum)
            and np.array_equal(self.places, other.places)
            and np.array_equal(self.values, other.values)
        )

    __hash__ = None  # type: ignore[assignment]  # as arrays have none

    def __sizeof__(self) -> int:
        """With what is in the arrays."""
        return object.__sizeof__(self) + self.places.nbytes + self.values.nbytes


def _units(values: npt.NDArray[np.float64]) -> int:
    """The sum in units of 2^-1126: mantissas added per exponent in two halves, each half exact in float64."""
    mantissas, exponents = np.frexp(values)
    lowest = int(exponents.min())
    high = np.floor(mantissas * 2.0**26)
    low = mantissas * 2.0**53 - high * 2.0**27
    highs = np.bincount(exponents - lowest, weights=high)
    lows = np.bincount(exponents - lowest, weights=low)
    total = 0
    for above, (upper, lower) in enumerate(zip(highs.tolist(), lows.tolist(), strict=True)):
        whole = (int(upper) << 27) + int(lower)
        total += whole << (lowest + above - 53 + _SHIFT)
    return total


def mergeable(value: V, where: str = "the value") -> V:
    """The value in its one canonical form (int64 arrays, plain ints, sorted keys); TypeError for anything inexact.

    >>> mergeable({"b": np.int32(2), "a": 1})
    {'a': 1, 'b': 2}
    """
    return _canonical(value, where)  # type: ignore[return-value]  # the same kind of thing, normalised


def merge(left: V, right: V) -> V:
    """Both values as one. Integers and integer arrays add up, sets unite, dicts merge key by key.

    >>> merge({"n": 2, "seen": frozenset({"a"})}, {"n": 3, "late": 1})
    {'late': 1, 'n': 5, 'seen': frozenset({'a'})}
    """
    return _merge(mergeable(left), mergeable(right), "the value")  # type: ignore[return-value]  # like with like


def _canonical(value: object, where: str) -> object:
    if isinstance(value, bool | np.bool_):
        raise _inexact(where, "a truth value", "use int(...) to count, Greatest(...) for any, Least(...) for all")
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, np.ndarray):
        return _int64(value, where)
    if isinstance(value, frozenset | ExactSum | SparseSum | Smallest | Extreme):
        return value
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise _inexact(where, "a dict whose keys are not all text", "use text as keys")
        return {key: _canonical(value[key], f"{where}[{key!r}]") for key in sorted(value)}
    if isinstance(value, float | np.floating):
        raise _inexact(where, "a float", "use ExactSum.of(...) for a sum, Least or Greatest, or collect the column")
    raise _inexact(
        where,
        f"a {type(value).__name__}",
        "use int, an integer array, frozenset, Least, Greatest, Smallest, ExactSum, SparseSum or dict",
    )


def _merge(left: object, right: object, where: str) -> object:
    if type(left) is not type(right):
        raise TypeError(
            f"{where} is {_named(left)} in one partition and {_named(right)} in another: they cannot be merged"
        )
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return _added(left, right, where)
    if isinstance(left, frozenset) and isinstance(right, frozenset):
        return left | right
    if isinstance(left, int | ExactSum | SparseSum | Smallest):
        return left + right  # type: ignore[operator]  # of one type
    if isinstance(left, dict) and isinstance(right, dict):
        merged = {**right, **left}
        both = {key: _merge(left[key], right[key], f"{where}[{key!r}]") for key in left.keys() & right.keys()}
        return {key: both.get(key, merged[key]) for key in sorted(merged)}
    assert isinstance(left, Extreme)
    assert isinstance(right, Extreme)
    if left.value == right.value:
        return min(left, right, key=lambda it: repr(it.value))
    return left if (left.value < right.value) == isinstance(left, Least) else right


def _int64(array: npt.NDArray[Any], where: str) -> Integers:
    if array.dtype.kind not in "iu":
        if array.dtype.kind == "f":
            raise _inexact(where, f"an array of {array.dtype}", "use ExactSum.of(...) for a sum, or collect the column")
        raise _inexact(where, f"an array of {array.dtype}", "use an integer array")
    if array.dtype == np.uint64 and array.size and int(array.max()) > _INT64.max:
        raise OverflowError(f"{where} holds {int(array.max())}, more than a 64-bit count can be")
    return array.astype(np.int64, copy=False)


def _added(left: Integers, right: Integers, where: str) -> Integers:
    if left.shape != right.shape:
        raise TypeError(f"{where} has shape {left.shape} in one partition and {right.shape} in another")
    total = left + right
    if _reach(left) + _reach(right) > _INT64.max and bool((((left ^ total) & (right ^ total)) < 0).any()):
        raise OverflowError(f"{where} grew past 64 bits while partitions were added up")
    return total


def _reach(array: Integers) -> int:
    return max(abs(int(array.min(initial=0))), abs(int(array.max(initial=0))))


def _comparable(value: object) -> object:
    """The value with one zero instead of two, and no NaN, since neither has its place in an order."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple):
        return tuple(_comparable(part) for part in value)
    if isinstance(value, float):
        if math.isnan(value):
            raise InputError("NaN has no place in an order: drop or replace it before taking the least or greatest")
        return value + 0.0
    return value


def _named(value: object) -> str:
    return f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"of type {type(value).__name__}"


def _inexact(where: str, what: str, instead: str) -> TypeError:
    return TypeError(f"{where} is {what}, which does not merge to the same result in every order; {instead}")


_SPELT_OUT = 256
"""Arrays of up to so many numbers stand in a manifest as numbers."""


def encode_tally(tally: Mapping[str, object]) -> dict[str, Any]:
    """The counts as plain JSON values, each with its type beside it.

    >>> decode_tally(encode_tally({"faults": {"rule": 3}, "first": Least(("a", 1))}))
    {'faults': {'rule': 3}, 'first': Least(value=('a', 1))}
    """
    return {name: _encode(value) for name, value in tally.items()}


def decode_tally(value: Mapping[str, Any]) -> dict[str, Any]:
    """The counts that `encode_tally` wrote."""
    return {name: _decode(item) for name, item in value.items()}


def _encode(value: object) -> Any:
    match value:
        case bool() | int() | np.integer():
            return {"int": int(value)}
        case np.ndarray() if value.ndim == 1 and value.size <= _SPELT_OUT:
            return {"array": value.tolist(), "dtype": value.dtype.str}
        case np.ndarray() if not value.dtype.hasobject:
            content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
            return {"bytes": content, "dtype": value.dtype.str, "shape": list(value.shape)}
        case frozenset():
            return {"set": sorted(value)}
        case ExactSum():
            return {"exact": value.units}
        case Least():
            return {"least": value.value}
        case Greatest():
            return {"greatest": value.value}
        case Mapping():
            return {"dict": {str(name): _encode(item) for name, item in value.items()}}
    raise TypeError(
        "a tally holds integers, integer arrays, sets, ExactSum, Least, Greatest and dictionaries of them, "
        f"not {type(value).__name__}"
    )


def _decode(value: Mapping[str, Any]) -> Any:
    match value:
        case {"int": number}:
            return number
        case {"array": items, "dtype": dtype}:
            return np.array(items, dtype=dtype)
        case {"bytes": content, "dtype": dtype, "shape": shape}:
            return np.frombuffer(base64.b64decode(content), dtype=dtype).reshape(shape).copy()
        case {"set": items}:
            return frozenset(items)
        case {"exact": units}:
            return ExactSum(units)
        case {"least": item}:
            return Least(_tupled(item))
        case {"greatest": item}:
            return Greatest(_tupled(item))
        case {"dict": items}:
            return {name: _decode(item) for name, item in items.items()}
    raise TypeError(f"not a tally: {value!r}")


def _tupled(value: Any) -> Any:
    return tuple(_tupled(item) for item in value) if isinstance(value, list) else value
