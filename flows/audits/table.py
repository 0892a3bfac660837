"""The kinds of audit that there are, in the order of a reader's interest, and what one from another package must
keep to stand among them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from assay.flows.audits.curation import CURATION
from assay.flows.audits.data import DATA
from assay.flows.audits.drift import DRIFT
from assay.flows.audits.duplicates import DUPLICATES
from assay.flows.audits.gold_labels import ANNOTATORS, LABEL_ERRORS
from assay.flows.audits.hardness import hardness_over
from assay.flows.audits.images import CORRUPTIONS, DIAGNOSTICS, IMAGES, SMOOTHING
from assay.flows.audits.overfitting import OVERFITTING
from assay.flows.audits.people import PEOPLE
from assay.flows.audits.regression import REGRESSION
from assay.flows.audits.services import SERVICES
from assay.flows.audits.slices import SLICES
from assay.flows.audits.subjects import ALONG, SUBJECTS, TABLES
from assay.flows.audits.terms import TERMS
from assay.flows.audits.texts import TEXTS
from assay.flows.audits.trust import TRUST
from assay.flows.kind import AuditKind, Key, LateFunction, Measured
from assay.infra.errors import suggestion
from assay.infra.settings import Settings, documented_fields, first_paragraph
from assay.tasks.statistics.metrics import Metric

AnyKind = AuditKind[Any]

_SINGLE: tuple[AnyKind, ...] = (
    DATA,
    ANNOTATORS,
    PEOPLE,
    CURATION,
    ALONG,
    TABLES,
    REGRESSION,
    SUBJECTS,
    IMAGES,
    CORRUPTIONS,
    DIAGNOSTICS,
    SMOOTHING,
    TRUST,
    TERMS,
    TEXTS,
    SLICES,
    LABEL_ERRORS,
    DRIFT,
    DUPLICATES,
    OVERFITTING,
    SERVICES,
)
KINDS: tuple[AnyKind, ...] = (*_SINGLE, hardness_over(_SINGLE))


def with_kind(kinds: Iterable[AnyKind], kind: AnyKind) -> tuple[AnyKind, ...]:
    """The kinds and one more, which the audit of hardness hears as well."""
    single = (*(known for known in kinds if known.name != KINDS[-1].name), kind)
    return (*single, hardness_over(single))


def in_running_order(kinds: Iterable[AnyKind]) -> list[AnyKind]:
    """The kinds so that each comes after what it stands on, and otherwise as they are.

    >>> [kind.name for kind in in_running_order([TEXTS, TRUST, SUBJECTS])]
    ['subjects', 'trust', 'texts']
    """
    waiting, ordered = list(kinds), list[AnyKind]()
    while waiting:
        names = {kind.name for kind in waiting}
        ready = next((kind for kind in waiting if not names.intersection((*kind.stands_on, *kind.after))), None)
        if ready is None:
            raise ValueError(f"audits stand on each other in a circle: {', '.join(sorted(names))}")
        ordered.append(ready)
        waiting.remove(ready)
    return ordered


NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
KEY = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
TAKES = {
    "asked": ("pipeline",),
    "clashes": ("pipeline",),
    "columns": ("pipeline",),
    "missing": ("pipeline", "folder"),
    "afterwards": ("ground", "result", "run"),
    "hardness": ("ground", "result"),
    "outcomes": ("ground", "result"),
    "sampled": ("outcomes", "tables", "of", "group"),
    "page": ("ground", "result", "findings"),
    "background": ("ground", "result", "findings"),
    "verdict": ("findings",),
    "followed": ("findings",),
}
"""The functions of a kind of audit beside `run`, each with what it is given."""


def troubles_of(kind: object) -> Iterator[str]:
    """What keeps a plug-in from being a kind of audit."""
    if not isinstance(kind, AuditKind):
        yield f"it is of the type {type(kind).__name__}, and a kind of audit is a value of the type AuditKind"
        return
    if not isinstance(kind.name, str) or not NAME.fullmatch(kind.name):
        yield f"its name is {kind.name!r}, and a name is small letters, digits and dashes, as in word-count"
    settings = tuple(key.name for key in kind.keys if isinstance(key, Key)) if isinstance(kind.keys, tuple) else ()
    yield from _function("run", kind.run, ("ground", *settings))
    for name, given in TAKES.items():
        yield from _function(name, getattr(kind, name), given)
    for field, what in (("keys", Key), ("measures", Measured), ("stands_on", str)):
        value = getattr(kind, field)
        if not isinstance(value, tuple) or not all(isinstance(item, what) for item in value):
            yield f"its {field} is not a tuple of {what.__name__}"
        elif field == "keys":
            yield from (trouble for key in value for trouble in _key(key))
        elif field == "measures":
            yield from (trouble for measured in value for trouble in _measured(measured))


def troubles_beside(kind: object, others: Sequence[AuditKind[Any]], taken: Sequence[str]) -> Iterator[str]:
    """What keeps a kind of audit from standing beside the others: `taken` are the keys that every pipeline has."""
    if not isinstance(kind, AuditKind):
        return
    if kind.name in [other.name for other in others]:
        yield f"there is another kind of audit called {kind.name}"
        return
    keys = {key.name: f"is a key of {other.name}" for other in others for key in other.keys}
    keys |= dict.fromkeys(taken, "is a key of every pipeline")
    stages = {measured.stage: other.name for other in others for measured in other.measures}
    written = [key.name for key in kind.keys]
    for at, key in enumerate(written):
        if key in written[:at]:
            yield f"it has the key {key} twice"
        elif key in keys:
            yield f"its key {key} {keys[key]} already"
    for measured in kind.measures:
        if measured.stage in stages:
            yield f"its findings are called {measured.stage}.…, and so are those of {stages[measured.stage]}"
        for key in measured.keys:
            if key not in (*keys, *written):
                yield f"it measures {measured.stage} where a pipeline has {key}, and there is no such key"


def troubles_in_order(kinds: Sequence[AuditKind[Any]]) -> Iterator[tuple[AuditKind[Any], str]]:
    """The kinds that stand on what is not there, and those that stand on each other in a circle."""
    names = [kind.name for kind in kinds]
    lost = [
        (kind, f"it stands on {below}, and there is no such kind of audit; {suggestion(below, names)}")
        for kind in kinds
        for below in kind.stands_on
        if below not in names
    ]
    yield from lost
    if not lost:
        try:
            in_running_order(kinds)
        except ValueError as circle:
            yield kinds[-1], str(circle)


def _function(name: str, function: object, given: tuple[str, ...]) -> Iterator[str]:
    takes = f"{name}({', '.join(given)})"
    if isinstance(function, LateFunction):
        try:
            function = function.load()
        except (ImportError, AttributeError) as error:
            yield f"its {name} cannot be had: {error}"
            return
    if not callable(function):
        yield f"its {name} is no function, as in {takes}"
    elif not _can_take(function, len(given)):
        yield f"its {name} does not take {len(given)} argument{'s' if len(given) > 1 else ''}, as in {takes}"


def _can_take(function: Callable[..., object], many: int) -> bool:
    try:
        inspect.signature(function).bind(*[None] * many)
    except ValueError:  # a function written in C does not say
        return True
    except TypeError:
        return False
    return True


def _key(key: Key) -> Iterator[str]:
    if not KEY.fullmatch(str(key.name)):
        yield f"its key is called {key.name!r}, and a key is small letters, digits and underscores, as in word_count"
    settings: object = key.settings
    if not (isinstance(settings, type) and issubclass(settings, Settings)):
        yield f"the settings of its key {key.name} are no model that extends Settings"
        return
    if not first_paragraph(settings):
        yield f"its key {key.name} has no sentence: the documents show the docstring of {settings.__name__}"
    mute = [name for name, field in documented_fields(settings).items() if not field.description]
    for name in mute:
        yield f"the setting {key.name}.{name} has no sentence: write one in a docstring under it; the documents show it"


def _measured(measured: Measured) -> Iterator[str]:
    if not isinstance(measured.metrics, tuple) or not all(isinstance(metric, Metric) for metric in measured.metrics):
        yield f"the metrics of {measured.stage} are not a tuple of Metric"
        return
    for metric in measured.metrics:
        if not metric.name.startswith(f"{measured.stage}."):
            yield f"it measures {metric.name} under {measured.stage}, and a finding is called {measured.stage}.…"
