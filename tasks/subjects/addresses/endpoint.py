"""A model behind an HTTP endpoint: asked in batches, and for nothing twice.

What stands for its answers is the version that a person or the service itself names; without one it is asked anew in
every run, but for a run that goes on with one that broke off. What was answered lies in the store by the content of the
samples.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.infra.answers import AskedCounts, KeptAnswers, Turns, counted_at, place_of, turns_at
from assay.infra.errors import InputError
from assay.infra.folders import Folder
from assay.infra.ingredients import note_elsewhere
from assay.infra.own_files import version_of
from assay.tasks.subjects.addresses.asking import Asking
from assay.tasks.subjects.addresses.columns import columns_of, require_named
from assay.tasks.subjects.addresses.given import ASKED_BY, GivenModel
from assay.tasks.subjects.addresses.posting import Client, require_address, secret_headers, shown
from assay.tasks.subjects.addresses.wire import Form, Item, form_of

if TYPE_CHECKING:
    from assay.tasks.subjects.settings import Subject


_SUM_TOLERANCE = 1e-3
_TOLERANCE = 1e-4  # the same model in another batch, or on another processor, agrees to more digits
_HELD_AGAIN = 8


def refer_to_endpoint(settings: Subject, written: str, beside: Path) -> GivenModel:
    """The endpoint in hand, with what stands for its answers tonight."""
    require_address(written)
    asking = settings.asking or Asking()
    secret_headers(asking, written)
    features = None
    if settings.kind == "model":
        features = require_named(settings.features, f'The endpoint "{shown(written)}"')
    form = form_of(asking, Client(written, asking))
    given = GivenModel(shown(written), "endpoint", settings.kind, open_endpoint, features, url=written, asking=asking)
    run, store, version = _tonight(f"{written}\0{given.fingerprint}", settings)
    vouched = settings.version is not None
    if vouched:
        version = version_of(settings, written, beside, run, asks=True)
    elif form.version and not settings.never_cached:
        version = f"version {form.version}, as the service says"
    named = "" if vouched or settings.never_cached else form.version
    given = replace(given, version=version, service_version=named, vouched=vouched, store=store, run=run)
    note_answers(given)
    return given


def note_answers(given: GivenModel) -> None:
    """Note in the record of the run whose answers it stands on, so that a clean-up keeps them."""
    note_elsewhere(f"answers of {given.written}", given.written, given.fingerprint)


def _tonight(what: str, settings: Subject) -> tuple[str, str, str]:
    """The run that asks, its store, and what stands for answers of a service that names no version."""
    from assay.infra.going_on import asked_since
    from assay.infra.plans import Plan
    from assay.infra.runs import current_run

    try:
        run = current_run()
    except LookupError:
        return "", "", ASKED_BY
    anew = settings.never_cached or run.fresh
    since = asked_since(run.store, what, run.record, anew=anew, note=not isinstance(run.conductor, Plan))
    return run.id, run.store.url, f"{ASKED_BY}{since}"


def open_endpoint(given: GivenModel) -> Callable[..., object]:
    """The function that asks for a table, a list of texts, or images [n, c, h, w]."""
    return _connected(given).answers


@lru_cache(maxsize=8)
def _connected(given: GivenModel) -> Endpoint:
    return Endpoint(given)


@dataclass(frozen=True)
class Endpoint:
    """The service as this process asks it."""

    given: GivenModel
    _held: list[bool] = field(default_factory=list)
    """Whether what an earlier run was told has been held against what is told now."""

    def answers(self, asked: pa.Table | Sequence[str] | npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """The rows of numbers for these samples, [n, k]."""
        items = self._items(asked)
        names = [_name_of(item) for item in items]
        found = dict(self._kept.known(names))
        self._counts.add(questions=len(set(names)), stored=len(found))
        try:
            if found and self.given.goes_on and not self._held:
                known = {name: item for name, item in zip(names, items, strict=True) if name in found}
                self._hold_against(known, found)
            missing = list({name: item for name, item in zip(names, items, strict=True) if name not in found}.items())
            for start in range(0, len(missing), self.given.asking.batch):
                found |= self._ask(missing[start : start + self.given.asking.batch])
        finally:
            self._counts.leave()
        widths = {len(found[name]) for name in names}
        if len(widths) > 1:
            raise InputError(f"{self._client.who} answers with {' and '.join(map(str, sorted(widths)))} numbers a row.")
        return np.array([found[name] for name in names], dtype=np.float64)

    def _ask(self, some: Sequence[tuple[str, Item]]) -> dict[str, list[float]]:
        """What it says of a batch; what can be used is kept, and what cannot is asked about again next time."""
        told = self._told(some)
        self._kept.keep({name: row for name, row in told.items() if self._can_be_used(row)})
        return told

    def _told(self, some: Sequence[tuple[str, Item]]) -> dict[str, list[float]]:
        answer = self._client.post(self._form.body([item for _, item in some]))
        if self.given.asking.version_header is not None:
            self._require_version(answer.headers.get(self.given.asking.version_header.lower(), ""))
        rows = self._form.rows(answer.json(self._client.who), len(some), self._client.who)
        return {name: row for (name, _), row in zip(some, rows, strict=True)}

    def _hold_against(self, items: dict[str, Item], found: dict[str, list[float]]) -> None:
        """Before a process believes what an earlier run was told, it asks about a few of the samples again."""
        self._held.append(True)
        some = list(items.items())[: min(_HELD_AGAIN, self.given.asking.batch)]
        for name, row in self._told(some).items():
            if len(row) != len(found[name]) or not np.allclose(row, found[name], rtol=0, atol=_TOLERANCE):
                raise InputError(
                    f"{self._client.who} answers otherwise than it did in the run that broke off and that this one "
                    "goes on with: run again with --fresh."
                )

    def _can_be_used(self, row: Sequence[float]) -> bool:
        if not all(map(math.isfinite, row)):
            return False
        return self.given.looks_at == "network" or (min(row) >= 0 and abs(sum(row) - 1) <= _SUM_TOLERANCE)

    def _require_version(self, said: str) -> None:
        """Raises where another version answers than the one that the answers of this run stand for."""
        if self.given.service_version and said != self.given.service_version:
            raise InputError(
                f"{self._client.who} answers as version {said or 'none'} now, and the run began with "
                f"{self.given.service_version}: run again."
            )

    def _items(self, asked: pa.Table | Sequence[str] | npt.NDArray[np.float32]) -> list[Item]:
        if isinstance(asked, pa.Table):
            rows = columns_of(asked, self.given.features or ()).to_pylist()
            return [{name: _plain(value) for name, value in row.items()} for row in rows]
        return list(asked)

    @cached_property
    def _folder(self) -> Folder | None:
        return Folder(self.given.store) if self.given.store else None

    @cached_property
    def _kept(self) -> KeptAnswers:
        return KeptAnswers(self._folder, place_of(self.given.fingerprint))

    @cached_property
    def _client(self) -> Client:
        asking, url = self.given.asking, self.given.url
        limit = "requests" if asking.requests == asking.most_requests else "cost"
        beyond = (
            f'The endpoint "{self.given.written}" was asked {asking.most_requests} times in this run, as often as '
            f"`asking.{limit}` allows: raise it, and run again; what was answered is kept."
        )
        turns = Turns(self._folder, turns_at(self.given.run, url), asking.rate, asking.most_requests, beyond)
        return Client(url, asking, turns.take, count=self._counts.add)

    @cached_property
    def _counts(self) -> AskedCounts:
        return AskedCounts(self._folder, counted_at(self.given.run, self.given.url))

    @cached_property
    def _form(self) -> Form:
        form = form_of(self.given.asking, self._client)
        self._require_version(form.version)
        return form


def _plain(value: Any) -> Any:
    """A cell as JSON has it: no number is null, dates are text.

    >>> _plain(float("nan")), _plain(3)
    (None, 3)
    """
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str | list | dict) else str(value)


def _name_of(item: Item) -> str:
    """The content of a sample, as a name.

    >>> _name_of("a text") == _name_of("a text"), _name_of({"a": 1}) == _name_of({"a": 2})
    (True, False)
    """
    if isinstance(item, np.ndarray):
        content = f"{item.shape}{item.dtype}".encode() + np.ascontiguousarray(item).tobytes()
    else:
        content = json.dumps(item, sort_keys=True, default=str).encode()
    return hashlib.blake2b(content, digest_size=16).hexdigest()
