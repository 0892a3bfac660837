"""A model behind an HTTP endpoint: asked in batches, again where that may help, and for nothing twice.

What stands for its answers is the version that a person or the service itself names; without one it is asked anew in
every run, except a run that goes on with one that broke off. Answers lie in the store by the content of the samples.
`instances` is the prediction API of TensorFlow Serving, Vertex AI, MLflow and KServe v1; `kserve` the Open Inference
Protocol, version 2 (one tensor in, one out).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import socket
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field, replace
from email.message import Message
from functools import cached_property, lru_cache
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.infra.errors import InputError, blame_setting
from assay.infra.masking import mask
from assay.infra.settings import StandsOn
from assay.infra.storage.folders import Folder
from assay.infra.storage.network import SECRET_OPTION, answer_within, no_answer_reason, secret_from
from assay.infra.storage.store import (
    AskedCounts,
    KeptAnswers,
    Turns,
    answers_folder,
    asked_in,
    counts_folder,
    turns_folder,
)
from assay.infra.user_code.references import note_elsewhere
from assay.infra.user_code.sources import version_of
from assay.tasks.subjects.addresses.chat import (
    REFUSED,
    Prompt,
    Reply,
    Told,
    UnreadableReplyError,
    form_at,
    read_prompt,
    reply_in,
    told_by,
)
from assay.tasks.subjects.addresses.given import ASKED_BY, Addressed, Asking, GivenModel, TokenPrice, content_at
from assay.tasks.subjects.predictions import NamedAnswers, columns_of, require_named

AGAIN = frozenset({429, 500, 502, 503, 504})
"""Answers after which the same request may well be answered."""
MOST_BYTES = 64 << 20
"""A longer answer is not read."""
MOST_PARTS = 100_000
NOT_THIS_ONE = frozenset({400, 413, 422})
"""Answers that may be about one text alone: too long for the model, or refused by a filter."""
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0
_CHUNK = 1 << 16
_QUOTED = 80


@dataclass(frozen=True)
class Answer:
    """The body of an answer, and its headers by their names in small letters."""

    body: bytes
    headers: Mapping[str, str]

    def json(self, who: str) -> Any:
        """The body as JSON, or what it is instead."""
        if self.body.count(b"[") + self.body.count(b"{") > MOST_PARTS:  # three bytes would be a hundred in memory
            raise InputError(f"{who} answered with more than {MOST_PARTS:,} lists and objects: lower `asking.batch`.")
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as fault:
            said = quoted(self.headers.get("content-type", "no content type"))
            raise UnreadableReplyError(
                f"{who} answered with something that is no JSON ({said}): correct the address."
            ) from fault


def quoted(value: object) -> str:
    """What a service says, as much of it as a sentence bears.

    >>> quoted([2, 3]), len(quoted("x" * 1000))
    ('[2, 3]', 81)
    """
    text = mask(str(value))
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"


def shown(url: str) -> str:
    """An address as it may be shown: without what comes after a question mark, which may be a secret.

    >>> shown("https://host:8000/predict?key=1234")
    'https://host:8000/predict'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def require_address(url: str) -> None:
    """Raises unless it is an address that can be asked: with a host, and without name, password or key in it."""
    try:
        parts = urlsplit(url)
        ready = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        ready, parts = False, urlsplit("")
    if not ready or any(letter.isspace() or ord(letter) < 32 for letter in url):
        raise InputError("The address of the endpoint names no host to ask: write it as https://host:port/path.")
    options = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True) if SECRET_OPTION.search(name)]
    if parts.username or parts.password or options:
        what = options[0] if options else "a name or password"
        raise InputError(
            f'The endpoint "{shown(url)}" has {what} in its address, which everybody reads: put the header '
            "into an environment variable, and name that under `asking: {headers: {Authorization: VARIABLE}}`."
        )


def counted_as(url: str, asking: Asking) -> str:
    """What is counted together at an address: each model that is asked in words has its own tokens and its own price.

    >>> counted_as("https://host/v1/chat/completions", Asking(model="m", prompt="p.txt", answers={"a": [], "b": []}))
    'https://host/v1/chat/completions m'
    """
    return f"{url} {asking.model}" if asking.model else url


def secret_headers(asking: Asking, url: str) -> dict[str, str]:
    """The headers that the settings name, with the values of their environment variables."""
    return {
        header: secret_from(variable, f'The endpoint "{shown(url)}" wants the header {header}, and ', ascii_only=True)
        for header, variable in asking.headers.items()
    }


class RefusedRequestError(InputError):
    """A service will not answer a request, and says so with a `code` of HTTP."""

    code = 0


@dataclass(frozen=True)
class Client:
    """Whoever asks one endpoint; `before` every request it takes its turn, which may make it wait or stop it.

    `count` hears of every request, and of those that were made again.
    """

    url: str
    asking: Asking
    before: Callable[[], None] = lambda: None
    wait: Callable[[float], None] = time.sleep
    count: Callable[..., None] = lambda **_: None

    @property
    def who(self) -> str:
        """What begins sentences about it."""
        return f'The endpoint "{shown(self.url)}"'

    def post(self, body: Any, url: str = "") -> Answer:
        """The answer to a JSON body; `url` where samples go to another address of the service than its own."""
        return self._asked(url or self.url, json.dumps(body, allow_nan=False).encode())

    def get(self, url: str) -> Answer:
        """What stands at an address of the same service."""
        return self._asked(url, None)

    def head(self) -> Mapping[str, str]:
        """The headers with which it answers anything: of an answer to HEAD, also where it does not like that."""
        return self._asked(self.url, None, method="HEAD", anything=True).headers

    def _asked(self, url: str, body: bytes | None, method: str | None = None, *, anything: bool = False) -> Answer:
        headers = {"Accept": "application/json", "User-Agent": "assay", **secret_headers(self.asking, self.url)}
        if body is not None:
            headers["Content-Type"] = "application/json"
        for attempt in range(self.asking.retries + 1):
            self.before()
            self.count(requests=1, retries=min(attempt, 1))
            pause = _FIRST_WAIT * 2**attempt
            try:
                return self._once(urllib.request.Request(url, body, headers, method=method))
            except urllib.error.HTTPError as fault:
                named = _headers(fault.headers)
                fault.close()
                if fault.code not in AGAIN:
                    if anything:
                        return Answer(b"", named)
                    refused = RefusedRequestError(f"{self.who} {_refusal(fault.code, named)}.")
                    refused.code = fault.code
                    raise refused from fault
                why, pause = f"answered {fault.code}", _seconds(named.get("retry-after"), pause)
            except (OSError, HTTPException) as fault:
                why = f"did not answer ({_why(fault, self.asking.timeout)})"
            if attempt < self.asking.retries:
                self.wait(min(pause, _LONGEST_WAIT))
        times = f" when asked {self.asking.retries + 1} times" if self.asking.retries else ""
        raise InputError(
            f"{self.who} {why}{times}: start it, or correct the address, and run again; what is finished is kept."
        )

    def _once(self, request: urllib.request.Request) -> Answer:
        with answer_within(request, self.asking.timeout) as answer:
            body = bytearray()
            while part := answer.read1(_CHUNK):
                body += part
                if len(body) > MOST_BYTES:
                    raise InputError(f"{self.who} answers with more than {MOST_BYTES >> 20} MiB: lower `asking.batch`.")
            return Answer(bytes(body), _headers(answer.headers))


def _headers(answered: Message) -> dict[str, str]:
    """Headers by their names in small letters; a service may send back the secret that it was sent."""
    return {name.lower(): mask(value) for name, value in answered.items()}


def _refusal(code: int, headers: Mapping[str, str]) -> str:
    """What an answer says that is none, and what to do."""
    if 300 <= code < 400:
        where = "another place"
        with suppress(ValueError):  # what stands there may be no address
            to = urlsplit(headers.get("location", ""))
            where = quoted(f"{to.scheme}://{to.hostname or ''}") if to.scheme else where
        return f"sends whoever asks it on to {where}, and Assay follows nobody elsewhere: name the address that answers"
    if code in (401, 403):
        how = "name the environment variable with its header under `asking: {headers: {Authorization: VARIABLE}}`"
        return f"does not let Assay in ({code}): {how}"
    if code == 404:
        return "has nothing at that address (404): correct the address"
    return f"refuses what it is asked ({code}): correct the address, `asking.form` or `features`"


def _why(fault: BaseException, seconds: float) -> str:
    reason = getattr(fault, "reason", fault)
    if isinstance(fault, TimeoutError) or isinstance(reason, TimeoutError | socket.timeout):
        return f"nothing within {seconds:g} s"
    return no_answer_reason(fault) or quoted(reason) or type(fault).__name__


def _seconds(written: str | None, otherwise: float) -> float:
    """How long the service wants to be left alone, in seconds; dates are not read.

    >>> _seconds("3", 0.5), _seconds("Sun, 22 Nov 2026 02:00:00 GMT", 0.5), _seconds(None, 1.0)
    (3.0, 0.5, 1.0)
    """
    return float(written) if written is not None and written.strip().isdecimal() else otherwise


Item = Any
"""A sample as it is asked about: a mapping of features, a text, or an image as an array [c, h, w]."""
Rows = list[list[float]]
_ANSWERS = ("predictions", "probabilities", "outputs")
_NUMBERS = {"FP16", "FP32", "FP64", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "BOOL"}


@dataclass(frozen=True)
class Instances:
    """`{"instances": […]}` → `{"predictions": [[…]]}`, or the rows alone."""

    url: str
    listed: bool = False
    version: str = ""

    def body(self, items: Sequence[Item]) -> Any:
        """Rows as mappings or lists, texts as they are, images as lists of channels of rows of pixels."""
        rows = [list(item.values()) if self.listed and isinstance(item, Mapping) else item for item in items]
        return {"instances": [row.tolist() if isinstance(row, np.ndarray) else row for row in rows]}

    def rows(self, answer: Any, count: int, who: str) -> Rows:
        """Lists of numbers, under one of the usual names or alone."""
        if isinstance(answer, dict):
            answer = next((answer[name] for name in _ANSWERS if name in answer), None)
        return checked_rows(answer, count, who, 'expected {"predictions": […]} with a list of probabilities per sample')


@dataclass(frozen=True)
class KServe:
    """One tensor of all samples → one tensor of all answers."""

    address: str
    tensor: str = "input-0"
    datatype: str = ""
    output: str | None = None
    version: str = ""

    @property
    def url(self) -> str:
        """Where samples are sent."""
        parts = urlsplit(self.address)
        return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/infer"))

    def body(self, items: Sequence[Item]) -> Any:
        """The samples as one tensor: texts as BYTES, rows and images as numbers."""
        if isinstance(items[0], str):
            shape, kind, data = [len(items)], "BYTES", list(items)
        else:
            stacked = np.stack([item if isinstance(item, np.ndarray) else _numbers(item) for item in items])
            kind = self.datatype if self.datatype in _NUMBERS else "FP32"
            whole = kind[:2] != "FP"
            shape, data = list(stacked.shape), (stacked.astype(np.int64) if whole else stacked).ravel().tolist()
        return {"inputs": [{"name": self.tensor, "shape": shape, "datatype": kind, "data": data}]}

    def rows(self, answer: Any, count: int, who: str) -> Rows:
        """The output of that name, or the only one, as [samples, classes]."""
        outputs = answer.get("outputs") if isinstance(answer, dict) else None
        if not isinstance(outputs, list) or not all(isinstance(output, dict) for output in outputs):
            raise InputError(f"{who} answered without outputs, expected those of the Open Inference Protocol.")
        said = str(answer.get("model_version", ""))
        if said and self.version and said not in self.version.split(","):
            began = quoted(self.version)
            raise InputError(f"{who} answers as version {quoted(said)} now, and the run began with {began}: run again.")
        found = _chosen(outputs, self.output, who)
        shape, data = (_list_in(found, field, who) for field in ("shape", "data"))
        if len(shape) != 2 or shape[0] != count:
            raise InputError(
                f"{who} answered with the shape {quoted(shape)} for {count} samples, expected [{count}, classes]."
            )
        flat = [cell for row in data for cell in (row if isinstance(row, list) else [row])]
        width = shape[1]
        if not isinstance(width, int) or width < 1 or len(flat) != count * width:
            raise InputError(f"{who} answered with {len(flat)} numbers for the shape {quoted(shape)}.")
        cut = [flat[at : at + width] for at in range(0, len(flat), width)]
        return checked_rows(cut, count, who, "expected the probabilities of every sample")


Form = Instances | KServe
"""How samples are sent and answers are read."""


def form_of(asking: Asking, client: Client) -> Form:
    """The form that the settings say or the address shows; KServe is asked what it has there."""
    word = asking.form if asking.form != "auto" else "kserve" if "/v2/models/" in client.url else "instances"
    return _kserve(asking, client) if word == "kserve" else _instances(asking, client)


def _instances(asking: Asking, client: Client) -> Form:
    version = ""
    if asking.version_header is not None:
        version = client.head().get(asking.version_header.lower(), "")
        if not version:
            raise InputError(
                f"{client.who} answers HEAD without the header {asking.version_header} that `asking.version_header` "
                "names: correct the name, let the service answer HEAD with it as it does POST, or leave it out."
            )
    return Instances(client.url, asking.rows == "listed", version)


def _kserve(asking: Asking, client: Client) -> Form:
    address = client.url.removesuffix("/").removesuffix("/infer")
    about = client.get(address).json(client.who)
    inputs = about.get("inputs") if isinstance(about, dict) else None
    if not isinstance(inputs, list) or not all(isinstance(tensor, dict) for tensor in inputs):
        raise InputError(f"{client.who} does not say what it has there as KServe does: set `asking.form: instances`.")
    if len(inputs) > 1:
        named = quoted(", ".join(str(tensor.get("name")) for tensor in inputs))
        raise InputError(
            f"{client.who} takes {len(inputs)} tensors ({named}), and Assay sends one: serve it behind one."
        )
    told = inputs[0] if inputs else {}
    versions = about.get("versions")
    version = ",".join(map(str, versions)) if isinstance(versions, list) else ""
    return KServe(address, str(told.get("name", "input-0")), str(told.get("datatype", "")), asking.output, version)


def _numbers(row: Mapping[str, Any]) -> Any:
    """A row of a table as numbers; raises where one is missing."""
    for name, value in row.items():
        if not isinstance(value, int | float) or not math.isfinite(value):
            raise InputError(
                f"The feature {name!r} is {value!r} for a sample, and a tensor takes finite numbers: list it under the "
                "source's `required`, or fill it in before."
            )
    return np.array([float(value) for value in row.values()])


def _chosen(outputs: Sequence[Mapping[str, Any]], wanted: str | None, who: str) -> Mapping[str, Any]:
    meant = [output for output in outputs if wanted in (None, output.get("name"))]
    if len(meant) == 1:
        return meant[0]
    why = f"has no output {wanted!r}" if wanted is not None and not meant else f"has {len(outputs)} outputs"
    listed = quoted(", ".join(str(output.get("name")) for output in outputs))
    raise InputError(f"{who} {why}; say which holds the probabilities with `asking.output`: {listed}.")


def _list_in(output: Mapping[str, Any], field: str, who: str) -> list[Any]:
    value = output.get(field)
    if not isinstance(value, list):
        what = f"without `{field}`" if field not in output else f"whose `{field}` is {quoted(value)} and no list"
        raise InputError(f"{who} answered with the output {quoted(output.get('name'))!r} {what}.")
    return value


def checked_rows(answer: Any, count: int, who: str, expected: str) -> Rows:
    """The rows of numbers, as many as samples; null is no number (NaN), for whoever checks the values to complain."""
    if not isinstance(answer, list):
        raise InputError(f"{who} answered {type(answer).__name__}, {expected}.")
    if len(answer) != count:
        raise InputError(f"{who} answered with {len(answer)} rows for {count} samples, {expected}.")
    for row in answer:
        if not isinstance(row, list) or not row or len(row) != len(answer[0]):
            raise InputError(f"{who} answered with rows of different shapes, {expected}.")
        if not all(cell is None or (isinstance(cell, int | float) and not isinstance(cell, bool)) for cell in row):
            raise InputError(f"{who} answered with something else than numbers, {expected}.")
    try:
        return [[math.nan if cell is None else float(cell) for cell in row] for row in answer]
    except OverflowError as fault:
        raise InputError(f"{who} answered with a number of more digits than numbers have, {expected}.") from fault


_SUM_TOLERANCE = 1e-3
_TOLERANCE = 1e-4  # the same model in another batch, or on another processor, agrees to more digits
_HELD_AGAIN = 8
_KEPT_AT_ONCE = 32
_LOOK_EVERY = 16
TOKENS = ("tokens_in", "tokens_out")
VERSION, EXAMPLE = "version ", " example "
"""How the counts begin of replies by version, and where the words of an answer follow that is none."""


def refer_to_endpoint(settings: Addressed, written: str, beside: Path) -> GivenModel:
    """The endpoint in hand, with what stands for its answers tonight."""
    require_address(written)
    asking, features, who = asking_at(written, settings.asking), None, f'The endpoint "{shown(written)}"'
    secret_headers(asking, written)
    if asking.in_words:
        if settings.kind != "classifier":
            raise InputError(f"{who} answers in words about texts alone: name it as `classifier`, with its `text`.")
        with blame_setting("asking.prompt", asking.prompt):
            content = content_at(str(asking.prompt), beside, "The prompt")
        return prompted(written, asking, content, settings.stands_on, beside)
    if settings.kind == "model":
        features = require_named(settings.features, who)
    form = form_of(asking, Client(written, asking))
    given = GivenModel(shown(written), "endpoint", settings.kind, open_endpoint, features, url=written, asking=asking)
    return _standing(given, settings.stands_on, form.version, beside)


def prompted(url: str, asking: Asking, content: bytes, stands_on: StandsOn, beside: Path) -> GivenModel:
    """A model that answers in words, in hand, with the content of its prompt."""
    require_address(url)
    secret_headers(asking, url)
    read_prompt(asking, content)
    given = GivenModel(shown(url), "endpoint", "classifier", open_endpoint, None, content, url=url, asking=asking)
    return _standing(given, stands_on, "", beside)


def _standing(given: GivenModel, stands_on: StandsOn, said: str, beside: Path) -> GivenModel:
    """The service with what stands for its answers tonight: the version that a person names, or that it `said`."""
    run, store, version = _tonight(f"{given.url}\0{given.fingerprint}", stands_on)
    vouched = stands_on.version is not None
    if vouched:
        version = version_of(stands_on, given.url, beside, run, asks=True)
    elif said and not stands_on.never_cached:
        version = f"version {said}, as the service says"
    named = "" if vouched or stands_on.never_cached else said
    given = replace(given, version=version, service_version=named, vouched=vouched, store=store, run=run)
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


def _tonight(what: str, stands_on: StandsOn) -> tuple[str, str, str]:
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


@lru_cache(maxsize=8)
def open_endpoint(given: GivenModel) -> Callable[..., object]:
    """The function that asks for a table, a list of texts, or images [n, c, h, w]."""
    return Endpoint(given).answers


@dataclass(frozen=True)
class Endpoint:
    """The service as this process asks it."""

    given: GivenModel
    _held: list[bool] = field(default_factory=list)
    """Whether what an earlier run was told has been held against what is told now."""
    _others: dict[str, int] = field(default_factory=dict)
    """What other processes were last seen to have used of its tokens."""
    _asked: Iterator[int] = field(default_factory=itertools.count)

    def answers(
        self, asked: pa.Table | Sequence[str] | npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float64] | NamedAnswers:
        """The rows of numbers for these samples, [n, k]; in words all 0 where an answer names no class."""
        items = self._items(asked)
        names = [_name_of(item) for item in items]
        different = dict(zip(names, items, strict=True))
        found: dict[str, Told] = dict(self._kept.known(names))
        self._counts.add(questions=len(different), stored=len(found))
        try:
            if found and self.given.goes_on and not self._held:
                self._hold_against([(name, item) for name, item in different.items() if name in found], found)
            for answered in self._told_at_once([sample for sample in different.items() if sample[0] not in found]):
                found |= answered
                if len(found) in (_KEPT_AT_ONCE, len(different)):
                    self._require_some_answer(answered)
            self._count_no_answers(found.values())
        finally:
            self._counts.leave()
        classes = tuple(self.given.asking.spellings)
        rows = [[0.0] * len(classes) if isinstance(told := found[name], dict) else told for name in names]
        widths = {len(row) for row in rows}
        if len(widths) > 1:
            raise InputError(f"{self._client.who} answers with {' and '.join(map(str, sorted(widths)))} numbers a row.")
        values = np.array(rows, dtype=np.float64)
        return NamedAnswers(classes, values) if self.given.asking.in_words else values

    def _told_at_once(self, missing: Sequence[tuple[str, Item]]) -> Iterator[dict[str, Told]]:
        """What it says of samples, several requests under way; what can be used is kept as it comes, and what cannot
        is asked about again next time."""
        asking, waiting = self.given.asking, dict[str, Told]()
        size = 1 if asking.in_words else asking.batch
        batches = [missing[start : start + size] for start in range(0, len(missing), size)]
        pool = ThreadPoolExecutor(asking.at_once)
        try:
            begun = [pool.submit(self._told, some) for some in batches] if asking.at_once > 1 else []
            answered = (done.result() for done in as_completed(begun)) if begun else map(self._told, batches)
            for told in answered:
                yield told
                waiting |= {name: row for name, row in told.items() if self._can_be_used(row)}
                if len(waiting) >= _KEPT_AT_ONCE or not asking.in_words:
                    self._kept.keep(waiting)
                    waiting = {}
        finally:
            pool.shutdown(cancel_futures=True)
            self._kept.keep(waiting)

    def _told(self, some: Sequence[tuple[str, Item]]) -> dict[str, Told]:
        if isinstance(self._form, Prompt):
            return {name: self._told_in_words(item, self._form) for name, item in some}
        answer = self._client.post(self._form.body([item for _, item in some]), self._form.url)
        if self.given.asking.version_header is not None:
            self._require_version(answer.headers.get(self.given.asking.version_header.lower(), ""))
        rows = self._form.rows(answer.json(self._client.who), len(some), self._client.who)
        return {name: row for (name, _), row in zip(some, rows, strict=True)}

    def _told_in_words(self, text: str, prompt: Prompt) -> Told:
        """What it says of one text; a reply that cannot be read is asked for again, as one that did not come."""
        self._require_budget()
        for left in reversed(range(self.given.asking.retries + 1)):
            try:
                reply = reply_in(self._client.post(prompt.body([text])).json(self._client.who), self._client.who)
                break
            except RefusedRequestError as fault:
                if fault.code not in NOT_THIS_ONE:
                    raise
                return told_by(Reply(f"HTTP {fault.code}", refused=True), self.given.asking)
            except UnreadableReplyError:
                if not left:
                    raise
                self._client.wait(_FIRST_WAIT)
        used = dict(zip(TOKENS, reply.tokens or (), strict=False))
        if not reply.tokens and isinstance(self.given.asking.price, TokenPrice):
            raise InputError(f"{self._client.who} does not say how many tokens it used: give the `price` of a request.")
        self._counts.add(answered=1, **used, **({f"{VERSION}{quoted(reply.version)}": 1} if reply.version else {}))
        return told_by(reply, self.given.asking)

    def _require_budget(self) -> None:
        """Raises where the tokens of all processes have cost what they may; the store is looked at now and then."""
        asking = self.given.asking
        if asking.cost is None or not isinstance(asking.price, TokenPrice):
            return
        ours = self._counts.so_far()
        if self._folder is not None and next(self._asked) % _LOOK_EVERY == 0:
            self._counts.leave()
            everybody = asked_in(self._folder, self._counts.place)
            self._others.update({name: everybody[name] - ours[name] for name in TOKENS})
        if (asking.spent(ours + Counter(self._others)) or 0.0) >= asking.cost:
            raise InputError(
                f'The endpoint "{self.given.written}" has cost {asking.cost:g} in this run, as much as `asking.cost` '
                "allows: raise it, and run again; what was answered is kept."
            )

    def _require_some_answer(self, told: Mapping[str, Told]) -> None:
        """Raises where all that this run asked was refused: that is the fault of the settings, not of the texts."""
        ours = self._counts.so_far()
        if not self.given.asking.in_words or ours["answered"] or ours["stored"]:
            return
        if self._folder is None or not asked_in(self._folder, self._counts.place)["answered"]:
            why = " and ".join(answer["text"] for answer in told.values() if isinstance(answer, dict))
            raise InputError(
                f"{self._client.who} refuses what it is asked ({why}), whatever the text: correct the address, or "
                "`model` and `parameters` under `asking`."
            )

    def _count_no_answers(self, told: Iterable[Told]) -> None:
        """Counts answers that are none, and the first few of each kind with their words."""
        for answer in told:
            if isinstance(answer, dict):
                example = f"{answer['why']}{EXAMPLE}{quoted(' '.join(answer['text'].split()) or 'nothing')}"
                self._counts.add(**{answer["why"]: 1, example: 1})

    def _hold_against(self, items: Sequence[tuple[str, Item]], found: dict[str, Told]) -> None:
        """Before a process believes what an earlier run was told, it asks about a few of the samples again; a model
        that answers in words may differ in some, not in most."""
        self._held.append(True)
        some = self._told(items[: min(_HELD_AGAIN, self.given.asking.batch)])
        differ = [not _same(told, found[name]) for name, told in some.items()]
        if any(differ) if not self.given.asking.in_words else 2 * sum(differ) > len(differ):
            raise InputError(
                f"{self._client.who} answers otherwise than it did in the run that broke off and that this one "
                "goes on with: run again with --fresh."
            )

    def _can_be_used(self, row: Told) -> bool:
        if isinstance(row, dict):  # where nothing is answered, a refusal may be the fault of the settings
            return row["why"] != REFUSED or self._counts.so_far()["answered"] > 0
        sums_up = self.given.looks_at == "network" or (min(row) >= 0 and abs(sum(row) - 1) <= _SUM_TOLERANCE)
        return sums_up and all(map(math.isfinite, row))

    def _require_version(self, said: str) -> None:
        """Raises where another version answers than the one that the answers of this run stand for."""
        if self.given.service_version and said != self.given.service_version:
            raise InputError(
                f"{self._client.who} answers as version {quoted(said or 'none')} now, and the run began with "
                f"{quoted(self.given.service_version)}: run again."
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
        return KeptAnswers(self._folder, answers_folder(self.given.fingerprint))

    @cached_property
    def _client(self) -> Client:
        asking, url = self.given.asking, self.given.url
        limit = "requests" if asking.requests == asking.most_requests else "cost"
        beyond = (
            f'The endpoint "{self.given.written}" was asked {asking.most_requests} times in this run, as often as '
            f"`asking.{limit}` allows: raise it, and run again; what was answered is kept."
        )
        turns = Turns(self._folder, turns_folder(self.given.run, url), asking.rate, asking.most_requests, beyond)
        return Client(url, asking, turns.take, count=self._counts.add)

    @cached_property
    def _counts(self) -> AskedCounts:
        return AskedCounts(self._folder, counts_folder(self.given.run, counted_as(self.given.url, self.given.asking)))

    @cached_property
    def _form(self) -> Form | Prompt:
        if self.given.asking.in_words:
            return read_prompt(self.given.asking, self.given.content)
        form = form_of(self.given.asking, self._client)
        self._require_version(form.version)
        return form


def _same(told: Told, before: Told) -> bool:
    if isinstance(told, dict) or isinstance(before, dict):
        return isinstance(told, dict) and isinstance(before, dict)
    return len(told) == len(before) and np.allclose(told, before, rtol=0, atol=_TOLERANCE)


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
