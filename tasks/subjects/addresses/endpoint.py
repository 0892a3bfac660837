"""A model behind an HTTP endpoint: asked in batches, and for nothing twice.

What stands for its answers is the version that a person or the service itself names; without one it is asked anew in
every run, except a run that goes on with one that broke off. Answers lie in the store by the content of the samples.
How it is sent what stands in forms.py and chat.py, how a request is made in client.py.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.infra.errors import InputError, blame_setting
from assay.infra.settings import StandsOn
from assay.infra.storage.folders import Folder
from assay.infra.storage.store import AskedCounts, KeptAnswers, Turns, answers_folder, asked_in, turns_folder
from assay.infra.user_code.references import content_at, note_elsewhere
from assay.infra.user_code.sources import version_of
from assay.tasks.subjects.addresses.chat import (
    PLACES,
    REFUSED,
    Prompt,
    Reading,
    Reply,
    form_at,
    read_prompt,
    read_reply,
    reply_in,
)
from assay.tasks.subjects.addresses.client import (
    Answer,
    Client,
    RefusedRequestError,
    quoted,
    require_address,
    secret_headers,
    shown,
)
from assay.tasks.subjects.addresses.forms import Form, Item, form_of, require_version
from assay.tasks.subjects.addresses.given import ASKED_BY, Addressed, Asking, GivenModel, KindName, TokenPrice
from assay.tasks.subjects.predictions import ROUNDING, SUM_TOLERANCE, NamedAnswers, columns_of, require_named

NOT_THIS_ONE = frozenset({400, 413, 422})
"""Answers that may be about one text alone: too long for the model, or refused by a filter."""
_TOLERANCE = 1e-4  # the same model in another batch, or on another processor, agrees to more digits
_HELD_AGAIN = 8
_KEPT_AT_ONCE = 32
_LOOK_EVERY = 16
TOKENS = ("tokens_in", "tokens_out")
VERSION, EXAMPLE = "version ", " example "
"""How the counts begin of replies by version, and where the words of an answer follow that is none."""


def refer_to_endpoint(settings: Addressed, written: str, beside: Path) -> GivenModel:
    """The endpoint in hand, with what stands for its answers in this run."""
    require_address(written)
    asking, features, who = asking_at(written, settings.asking), None, f'The endpoint "{shown(written)}"'
    secret_headers(asking, written)
    if asking.in_words:
        if settings.kind != "classifier" and (settings.kind, asking.form) != ("network", "chat"):
            raise InputError(f"{who} answers in words: name it as `classifier`, of pictures (chat) as `network`.")
        with blame_setting("asking.prompt", asking.prompt):
            content = content_at(str(asking.prompt), beside, "The prompt")
        return prompted(written, asking, content, settings.stands_on, beside, settings.kind)
    if settings.kind == "model":
        features = require_named(settings.features, who)
    form = form_of(asking, Client(written, asking))
    given = GivenModel(shown(written), "endpoint", settings.kind, open_endpoint, features, url=written, asking=asking)
    return _with_version(given, settings.stands_on, form.version, beside)


def prompted(
    url: str, asking: Asking, content: bytes, stands_on: StandsOn, beside: Path, looks_at: KindName = "classifier"
) -> GivenModel:
    """A model that answers in words, in hand, with the content of its prompt."""
    require_address(url)
    secret_headers(asking, url)
    read_prompt(asking, content, PLACES[looks_at])
    given = GivenModel(shown(url), "endpoint", looks_at, open_endpoint, None, content, url=url, asking=asking)
    return _with_version(given, stands_on, "", beside)


def require_answer(url: str, prompt: Prompt, place: str, retries: int | None) -> None:
    """Raises where a model gives no answer, whatever it says, to its prompt with a word or a grey picture in place."""
    client = Client(url, prompt.asking.model_copy(update={} if retries is None else {"retries": retries}))
    item = np.full((3, 64, 64), 0.5, np.float32) if place == PLACES["network"] else "text"
    client.post(prompt.body([item]), lambda answer: reply_in(answer.json(client.who), client.who))


def _with_version(given: GivenModel, stands_on: StandsOn, named: str, beside: Path) -> GivenModel:
    """The service with what stands for its answers: the version that a person says, or that the service `named`."""
    run, store, version = _this_run(f"{given.url}\0{given.fingerprint}", stands_on)
    vouched = stands_on.version is not None
    if vouched:
        version = version_of(stands_on, given.url, beside, run, asks=True)
    elif named and not stands_on.never_cached:
        version = f"version {named}, as the service says"
    service_version = "" if vouched or stands_on.never_cached else named
    given = replace(given, version=version, service_version=service_version, vouched=vouched, store=store, run=run)
    note_elsewhere(f"answers of {given.written}", given.written, given.fingerprint)  # a clean-up keeps them
    return given


def asking_at(written: str, asking: Asking | None) -> Asking:
    """How what is written is asked: in words where the settings or the address say so."""
    asking = asking or Asking()
    form = form_at(written) if asking.form == "auto" else asking.form
    if form == asking.form:
        return asking
    try:
        return Asking.model_validate(asking.model_dump(exclude_unset=True) | {"form": form})
    except ValueError as fault:
        raise InputError(
            f'The endpoint "{shown(written)}" answers in words: say under `asking` which `model` is asked, with which '
            "`prompt`, and which `answers` name the classes."
        ) from fault


def _this_run(what: str, stands_on: StandsOn) -> tuple[str, str, str]:
    """The run that asks, its store, and what stands for answers of a service that names no version."""
    from assay.infra.stages.branches import Plan
    from assay.infra.stages.runs import current_run
    from assay.infra.storage.sweep import resumed_run

    try:
        run = current_run()
    except LookupError:
        return "", "", ASKED_BY
    anew = stands_on.never_cached or run.fresh
    since = resumed_run(run.store, what, run.record, anew=anew, note=not isinstance(run.conductor, Plan))
    return run.id, run.store.url, f"{ASKED_BY}{since}"


def counted_as(url: str, asking: Asking) -> str:
    """What findings call whoever is asked at an address: in words each prompt of each model by itself.

    >>> counted_as("https://host/v1/chat/completions", Asking(model="m", prompt="p.txt", answers={"a": [], "b": []}))
    'https://host/v1/chat/completions m p.txt'
    """
    return " ".join(filter(None, (url, asking.model, asking.prompt)))


def turns_of(run: str, url: str, asking: Asking) -> str:
    """Where the requests of a run to a model at an address are numbered: each model has its own budget."""
    return turns_folder(run, " ".join(filter(None, (url, asking.model))))


def counts_of(run: str, url: str, asking: Asking, variant_of: str = "") -> str:
    """Where is counted what is asked at an address in a run: within the counts of a model those of each prompt."""
    place, prompt = f"{turns_of(run, url, asking)}/asked", variant_of or asking.prompt
    return f"{place}/{hashlib.sha256(prompt.encode()).hexdigest()[:16]}" if prompt else place


@lru_cache(maxsize=8)
def open_endpoint(given: GivenModel) -> Callable[..., object]:
    """The function that asks for a table, a list of texts, or images [n, c, h, w]."""
    return Endpoint(given).answers


@dataclass(frozen=True)
class Endpoint:
    """The service as this process asks it."""

    given: GivenModel
    _compared: list[bool] = field(default_factory=list)
    """Whether stored answers of an earlier run have been compared with today's."""
    _others: dict[str, int] = field(default_factory=dict)
    """What other processes were last seen to have used of its tokens."""
    _counted: set[str] = field(default_factory=set)
    """What this process was asked about: a question that comes again is none more."""
    _requests: Iterator[int] = field(default_factory=itertools.count)
    _versions: dict[str, Reading] = field(default_factory=dict)
    """The versions that answered in words, as they are kept beside the answers."""

    def answers(
        self, asked: pa.Table | Sequence[str] | npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float64] | NamedAnswers:
        """The rows of numbers for these samples, [n, k]; in words all 0 where an answer names no class."""
        items = self._items(asked)
        names = [_name_of(item) for item in items]
        different = dict(zip(names, items, strict=True))
        readings: dict[str, Reading] = dict(self._kept.known(names))
        of_others = readings.keys() if self.given.asked_now else ()  # whoever asked in this run has counted them
        first = different.keys() - self._counted - set(of_others)
        self._counted.update(first)
        self._counts.add(questions=len(first), stored=len(first & readings.keys()))
        try:
            if readings and self.given.goes_on and not self._compared:
                self._compare_again([(name, item) for name, item in different.items() if name in readings], readings)
            for answered in self._ask_all([sample for sample in different.items() if sample[0] not in readings]):
                readings |= answered
                if len(readings) in (_KEPT_AT_ONCE, len(different)):
                    self._require_some_answer(answered.values())
            self._count_no_answers(readings[name] for name in different if name in first)
        finally:
            self._counts.leave()
        classes = tuple(self.given.asking.spellings)
        rows = [[0.0] * len(classes) if isinstance(row := readings[name], dict) else row for name in names]
        widths = {len(row) for row in rows}
        if len(widths) > 1:
            raise InputError(f"{self._client.who} answers with {' and '.join(map(str, sorted(widths)))} numbers a row.")
        values = np.array(rows, dtype=np.float64)
        return NamedAnswers(classes, values) if self.given.asking.in_words else values

    def _ask_all(self, missing: Sequence[tuple[str, Item]]) -> Iterator[dict[str, Reading]]:
        """What it answers about samples, several requests under way; what can be used is kept as it comes, and what
        cannot is asked about again next time. Where one request fails, those under way are waited for."""
        asking, waiting = self.given.asking, dict[str, Reading]()
        size = 1 if asking.in_words else asking.batch
        batches = [missing[start : start + size] for start in range(0, len(missing), size)]
        pool = ThreadPoolExecutor(asking.at_once)
        begun = [pool.submit(self._ask, batch) for batch in batches] if asking.at_once > 1 else []
        try:
            for readings in (done.result() for done in as_completed(begun)) if begun else map(self._ask, batches):
                yield readings
                waiting |= self._usable(readings)
                if len(waiting) >= _KEPT_AT_ONCE or not asking.in_words:
                    self._kept.keep(waiting | self._versions)
                    waiting = {}
        except BaseException:
            pool.shutdown(cancel_futures=True)
            for done in begun:
                waiting |= {} if done.cancelled() or done.exception() else self._usable(done.result())
            raise
        finally:
            pool.shutdown(cancel_futures=True)
            self._kept.keep(waiting and waiting | self._versions)

    def _ask(self, batch: Sequence[tuple[str, Item]]) -> dict[str, Reading]:
        """What it answers about a batch: in one request, or in words in one for each text."""
        if isinstance(self._form, Prompt):
            return {name: self._ask_in_words(item, self._form) for name, item in batch}
        form, items = self._form, [item for _, item in batch]
        rows = self._client.post(form.body(items), partial(self._rows, form, len(items)), form.url)
        return {name: row for (name, _), row in zip(batch, rows, strict=True)}

    def _rows(self, form: Form, count: int, answer: Answer) -> list[list[float]]:
        if self.given.asking.version_header is not None:
            self._require_version(answer.headers.get(self.given.asking.version_header.lower(), ""))
        return form.rows(answer.json(self._client.who), count, self._client.who)

    def _ask_in_words(self, item: Item, prompt: Prompt) -> Reading:
        asking, who = self.given.asking, self._client.who
        try:
            reply = self._client.post(prompt.body([item]), lambda answer: reply_in(answer.json(who), who))
        except RefusedRequestError as fault:
            if fault.code not in NOT_THIS_ONE:
                raise
            return read_reply(Reply(f"HTTP {fault.code}", refused=True), asking)
        if not reply.tokens and isinstance(asking.price, TokenPrice):
            raise InputError(f"{who} does not say how many tokens it used: give the `price` of a request.")
        used = dict(zip(TOKENS, reply.tokens or (), strict=False))
        version = f"{VERSION}{quoted(reply.version)}"
        self._counts.add(answered=1, **used, **({version: 1} if reply.version else {}))
        self._versions.update({VERSION: [], version: []} if reply.version else {})
        return read_reply(reply, asking)

    def _require_budget(self) -> None:
        """Raises where the tokens of all processes have cost what they may; the store is looked at now and then."""
        asking = self.given.asking
        if asking.cost is None or not isinstance(asking.price, TokenPrice):
            return
        ours = self._counts.so_far()
        if self._folder is not None and next(self._requests) % _LOOK_EVERY == 0:
            self._counts.leave()
            everybody = self._counted_of_model()
            self._others.update({name: everybody[name] - ours[name] for name in TOKENS})
        if (asking.spent(ours + Counter(self._others)) or 0.0) >= asking.cost:
            raise InputError(
                f'The endpoint "{self.given.written}" has cost {asking.cost:g} in this run, as much as `asking.cost` '
                "allows: raise it, and run again; what was answered is kept."
            )

    def _counted_of_model(self) -> Counter[str]:
        """What all processes counted of this model in this run, whatever the prompt."""
        place = self._counts.place
        place = place.rpartition("/")[0] if self.given.asking.in_words else place
        return Counter() if self._folder is None else asked_in(self._folder, place)

    def _require_some_answer(self, readings: Iterable[Reading]) -> None:
        """Raises where all that this run asked was refused: that is the fault of the settings, not of the texts."""
        ours = self._counts.so_far()
        if not self.given.asking.in_words or ours["answered"] or ours["stored"]:
            return
        if not self._counted_of_model()["answered"]:
            why = " and ".join(reading["text"] for reading in readings if isinstance(reading, dict))
            raise InputError(
                f"{self._client.who} refuses what it is asked ({why}), whatever the text: correct the address, or "
                "`model` and `parameters` under `asking`."
            )

    def _count_no_answers(self, readings: Iterable[Reading]) -> None:
        """Counts answers that are none, and the first few of each kind with their words."""
        for reading in readings:
            if isinstance(reading, dict):
                example = f"{reading['why']}{EXAMPLE}{quoted(' '.join(reading['text'].split()) or 'nothing')}"
                self._counts.add(**{reading["why"]: 1, example: 1})

    def _compare_again(self, samples: Sequence[tuple[str, Item]], stored: dict[str, Reading]) -> None:
        """Asks about a few samples again before a process believes stored answers of an earlier run: a model that
        answers in words may differ in some, not in most, and is of a version that answered then."""
        self._compared.append(True)
        again = self._ask(samples[: min(_HELD_AGAIN, self.given.asking.batch)])
        differ = [not _same(reading, stored[name]) for name, reading in again.items()]
        now = self._versions.keys() - {VERSION}
        changed = bool(now and self._kept.known([VERSION]) and not self._kept.known(now))
        if changed or (2 * sum(differ) > len(differ) if self.given.asking.in_words else any(differ)):
            raise InputError(
                f"{self._client.who} answers otherwise than it did in the run that broke off and that this one "
                "goes on with: run again with --fresh."
            )

    def _usable(self, readings: Mapping[str, Reading]) -> dict[str, Reading]:
        return {name: row for name, row in readings.items() if self._can_be_used(row)}

    def _can_be_used(self, row: Reading) -> bool:
        if isinstance(row, dict):  # where nothing is answered, a refusal may be the fault of the settings
            return row["why"] != REFUSED or self._counts.so_far()["answered"] > 0
        sums_up = self.given.looks_at == "network" or (min(row) >= -ROUNDING and abs(sum(row) - 1) <= SUM_TOLERANCE)
        return sums_up and all(map(math.isfinite, row))

    def _require_version(self, answered: str) -> None:
        """Raises where another version answers than the one that the answers of this run stand for."""
        if self.given.service_version:
            require_version(answered, [self.given.service_version], self._client.who)

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
        return KeptAnswers(self._folder, answers_folder(self.given.fingerprint))

    @cached_property
    def _client(self) -> Client:
        asking, url = self.given.asking, self.given.url
        limit = "requests" if asking.requests == asking.most_requests else "cost"
        beyond = (
            f'The endpoint "{self.given.written}" was asked {asking.most_requests} times in this run, as often as '
            f"`asking.{limit}` allows: raise it, and run again; what was answered is kept."
        )
        turns = Turns(self._folder, turns_of(self.given.run, url, asking), asking.rate, asking.most_requests, beyond)

        def take_turn() -> None:
            self._require_budget()
            turns.take()

        return Client(url, asking, take_turn, count=self._counts.add)

    @cached_property
    def _counts(self) -> AskedCounts:
        return AskedCounts(
            self._folder, counts_of(self.given.run, self.given.url, self.given.asking, self.given.variant_of)
        )

    @cached_property
    def _form(self) -> Form | Prompt:
        if self.given.asking.in_words:
            return read_prompt(self.given.asking, self.given.content, PLACES[self.given.looks_at])
        form = form_of(self.given.asking, self._client)
        self._require_version(form.version)
        return form


def _same(reading: Reading, stored: Reading) -> bool:
    if isinstance(reading, dict) or isinstance(stored, dict):
        return isinstance(reading, dict) and isinstance(stored, dict)
    return len(reading) == len(stored) and np.allclose(reading, stored, rtol=0, atol=_TOLERANCE)


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
