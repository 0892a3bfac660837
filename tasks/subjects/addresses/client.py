"""Whoever asks a model over HTTP: one request at a time, made again where that may help, within a budget.

What comes back is read in the same loop: an answer that is not what the protocol says is asked for again, as one that
did not come. No request is made without a look at the budget.
"""

from __future__ import annotations

import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from http.client import HTTPException
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

from assay.infra.errors import InputError
from assay.infra.masking import mask
from assay.infra.storage.network import SECRET_OPTION, Connection, answer_within, no_answer_reason, secret_from
from assay.tasks.subjects.addresses.chat import UnreadableReplyError
from assay.tasks.subjects.addresses.given import Asking

T = TypeVar("T")
AGAIN = frozenset({429, 500, 502, 503, 504})
"""Answers after which the same request may well be answered."""
MOST_BYTES = 64 << 20
"""A longer answer is not read."""
MOST_PARTS = 100_000
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
            kind = quoted(self.headers.get("content-type", "no content type"))
            raise UnreadableReplyError(
                f"{who} answered with something that is no JSON ({kind}): correct the address."
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
    _connections: list[Connection] = field(default_factory=list, compare=False)

    @property
    def who(self) -> str:
        """What begins sentences about it."""
        return f'The endpoint "{shown(self.url)}"'

    def post(self, body: Any, read: Callable[[Answer], T], url: str = "") -> T:
        """What is `read` of the answer to a JSON body; `url` where samples go to another address than its own."""
        return self._ask(read, url or self.url, json.dumps(body, allow_nan=False).encode())

    def get(self, url: str) -> Any:
        """The JSON that stands at an address of the same service."""
        return self._ask(lambda answer: answer.json(self.who), url)

    def head(self) -> Mapping[str, str]:
        """The headers with which it answers anything: of an answer to HEAD, also where it does not like that."""
        return self._ask(lambda answer: answer.headers, self.url, method="HEAD")

    def _ask(self, read: Callable[[Answer], T], url: str, body: bytes | None = None, method: str | None = None) -> T:
        """What is read of the first answer that can be: every request takes its turn, and all are `retries` + 1."""
        headers = {"Accept": "application/json", "User-Agent": "assay", **secret_headers(self.asking, self.url)}
        if body is not None:
            headers["Content-Type"] = "application/json"
        retries = self.asking.retries
        for attempt in range(retries + 1):
            self.before()
            self.count(requests=1, retries=min(attempt, 1))
            pause = _FIRST_WAIT * 2**attempt
            try:
                return read(self._once(urllib.request.Request(url, body, headers, method=method)))
            except UnreadableReplyError:
                if attempt == retries:
                    raise
            except urllib.error.HTTPError as fault:
                named = _headers(fault.headers)
                fault.close()
                if fault.code not in AGAIN:
                    if method == "HEAD":
                        return read(Answer(b"", named))
                    refused = RefusedRequestError(f"{self.who} {_refusal(fault.code, named)}.")
                    refused.code = fault.code
                    raise refused from fault
                why, pause = f"answered {fault.code}", _seconds(named.get("retry-after"), pause)
            except (OSError, HTTPException) as fault:
                why = f"did not answer ({_why(fault, self.asking.timeout)})"
            if attempt < retries:
                self.wait(min(pause, _LONGEST_WAIT))
        times = f" when asked {retries + 1} times" if retries else ""
        raise InputError(
            f"{self.who} {why}{times}: start it, or correct the address, and run again; what is finished is kept."
        )

    def _once(self, request: urllib.request.Request) -> Answer:
        with answer_within(request, self.asking.timeout, self._connections) as answer:
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
        return "has nothing at that address, or no such model (404): correct the address or `asking.model`"
    return f"refuses what it is asked ({code}): correct the address, or `form`, `model`, `parameters` or `features`"


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
