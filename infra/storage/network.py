"""How anything outside this machine is asked: credentials from environment variables, HTTP and nothing else, retries
while a store or a service is busy, and why one did not answer.

`pipelines.yaml` names the variables of credentials; what is written out there is refused.
"""

from __future__ import annotations

import errno
import heapq
import itertools
import math
import os
import random
import re
import select
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, TypeVar

from assay.infra.errors import InputError, RunError
from assay.infra.masking import mask, register, register_address

V = TypeVar("V")
RETRY_SECONDS = 300.0
FIRST_RETRY_SECONDS = 10.0
"""For a store that this process has not reached yet: more likely its address is wrong than that it is busy."""
NOTICE_AFTER_SECONDS = 5.0
_LONGEST_PAUSE = 10.0
_SHOWN = 200
_BUSY = (408, 409, 425, 429)  # HTTP's words for "not now"; 409 is S3's where two conditional writes meet
_ERRNOS = {
    errno.EAGAIN,
    errno.EBUSY,  # what s3fs makes of 503 and SlowDown
    errno.ECONNABORTED,
    errno.ECONNREFUSED,
    errno.ECONNRESET,
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
    errno.EPIPE,
    errno.ETIMEDOUT,
    getattr(errno, "EREMOTEIO", errno.EIO),  # what s3fs makes of 500
}
_NAMES = {
    "HTTPClientError",  # botocore: read timeouts, closed connections
    "EndpointConnectionError",
    "ConnectTimeoutError",
    "ResponseParserError",  # the page of a gateway, where XML was due
    "IncompleteRead",
    "ClientConnectionError",  # aiohttp, under s3fs and gcsfs
    "ClientPayloadError",
    "ServiceRequestError",  # azure, under adlfs
    "ServiceResponseError",
}


def is_transient(fault: BaseException) -> bool:
    """Whether a fault of a remote store is one that passes: throttling, a gateway's error, silence.

    >>> is_transient(OSError(errno.EBUSY, "Please reduce your request rate.")), is_transient(TimeoutError())
    (True, True)
    >>> is_transient(FileNotFoundError("no such key")), is_transient(PermissionError("Access Denied"))
    (False, False)
    """
    status = _http_status(fault)
    if status is not None:
        return status >= 500 or status in _BUSY
    if isinstance(fault, TimeoutError | ConnectionError) or (isinstance(fault, OSError) and fault.errno in _ERRNOS):
        return True
    return any(kind.__name__ in _NAMES for kind in type(fault).__mro__)


def _http_status(fault: BaseException) -> int | None:
    """The HTTP status behind a fault, where its library kept it: botocore in `response`, gcsfs in `code`."""
    for error in (fault, fault.__cause__):
        response = getattr(error, "response", None)
        answered = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
        kept = (answered.get("HTTPStatusCode"), getattr(error, "code", None), getattr(error, "status_code", None))
        if statuses := [status for status in kept if isinstance(status, int)]:
            return statuses[0]
    return None


def with_retries(
    operation: Callable[[], V], place: str, seconds: float = RETRY_SECONDS, notice: Callable[[str], None] | None = None
) -> V:
    """What the operation gives, asked again after faults that pass; it must be one that may be done twice.

    RunError once the store at `place` has not answered for so long; `notice` hears of it well before.
    """
    began, pause, spoken = time.monotonic(), 0.2, False
    while True:
        try:
            return operation()
        except Exception as fault:
            waited = time.monotonic() - began
            if not is_transient(fault):
                raise
            if waited >= seconds:
                words = " ".join(mask(str(fault)).split())[:_SHOWN] or type(fault).__name__
                raise RunError(
                    f"The store {place} has not answered for {waited:.0f} s ({words}): run again once it does, and the "
                    "run goes on where it was."
                ) from fault
        if notice is not None and not spoken and waited >= NOTICE_AFTER_SECONDS:
            notice(f"The store {place} does not answer just now; it is asked again for up to {seconds:.0f} s")
            spoken = True
        time.sleep(pause * random.uniform(0.5, 1.5))  # apart from the other workers, who were refused at the same time
        pause = min(2 * pause, _LONGEST_PAUSE)


_NO_ANSWER = (ConnectionRefusedError, ConnectionResetError, ConnectionAbortedError, TimeoutError, socket.gaierror)


def no_answer_reason(fault: BaseException) -> str:
    """Why a service did not answer, in the system's words; empty for every other error.

    HTTP clients wrap what the system said in errors of their own, as a cause, a context or a `reason`.

    >>> no_answer_reason(ConnectionRefusedError(111, "Connection refused")), no_answer_reason(ValueError("no number"))
    ('Connection refused', '')
    """
    cause = next((error for error in _causes(fault) if isinstance(error, _NO_ANSWER)), None)
    return "" if cause is None else getattr(cause, "strerror", None) or str(cause) or "it took too long"


def _causes(fault: BaseException) -> Iterator[BaseException]:
    """The error and every one that it was made of, each once."""
    waiting, seen = [fault], set[int]()
    while waiting:
        error = waiting.pop(0)
        if id(error) in seen:
            continue
        seen.add(id(error))
        yield error
        parts = (error.__cause__, error.__context__, getattr(error, "reason", None))
        waiting += [part for part in parts if isinstance(part, BaseException)]


class _Alarms:
    """What has a time limit, watched by one thread: to start one for each takes longer than to ask most questions."""

    def __init__(self) -> None:
        self.reset()
        os.register_at_fork(after_in_child=self.reset)  # a child has neither the thread nor what it watched

    def reset(self) -> None:
        """Nothing is watched, and nobody watches."""
        self._due = list[tuple[float, int, Callable[[], object]]]()
        self._numbers, self._changed = itertools.count(), threading.Condition()
        self._asleep_until = -math.inf
        """-∞ before the thread is started."""

    def set(self, seconds: float, ring: Callable[[], object]) -> int:
        """The number of an alarm that will `ring` after so many seconds."""
        with self._changed:
            number, when = next(self._numbers), time.monotonic() + seconds
            heapq.heappush(self._due, (when, number, ring))
            if self._asleep_until == -math.inf:
                threading.Thread(target=self._watch, name="time limits", daemon=True).start()
            elif when < self._asleep_until:
                self._changed.notify()
        return number

    def off(self, number: int) -> None:
        """That alarm does not ring any more."""
        with self._changed:
            self._due = sorted(alarm for alarm in self._due if alarm[1] != number)

    def _watch(self) -> None:
        while True:
            with self._changed:
                self._asleep_until = self._due[0][0] if self._due else math.inf
                pause = self._asleep_until - time.monotonic()
                ring = heapq.heappop(self._due)[2] if pause <= 0 else None
                if ring is None:
                    self._changed.wait(None if pause == math.inf else min(pause, threading.TIMEOUT_MAX))
            if ring is not None:
                ring()


_ALARMS = _Alarms()


@contextmanager
def ended_after(seconds: float, end: Callable[[], object]) -> Iterator[threading.Event]:
    """Within the block somebody else is at work, and is told to `end` after so many seconds; the event says whether."""
    over = threading.Event()

    def stop() -> None:
        over.set()
        end()

    alarm = _ALARMS.set(seconds, stop)
    try:
        yield over
    finally:
        _ALARMS.off(alarm)


@contextmanager
def answer_within(
    request: urllib.request.Request, seconds: float, kept: list[Connection] | None = None
) -> Iterator[HTTPResponse]:
    """The answer of an HTTP service, all of it within so many seconds: TimeoutError for what takes longer, be it the
    handshake, the status line, headers that drip, `100 Continue` for ever, or the body.

    Other schemes are refused, and nobody is followed elsewhere. Connections that are `kept` to a service are used
    again, and kept once more when the answer was read whole.

    >>> with answer_within(urllib.request.Request("file:///etc/hostname"), 1.0): pass
    Traceback (most recent call last):
    urllib.error.URLError: <urlopen error unknown url type: file>
    """
    opened = _EXCHANGE.opened = list[socket.socket]()
    _EXCHANGE.kept, _EXCHANGE.connection = kept, None

    def hang_up() -> None:
        for connection in opened:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    with ended_after(seconds, hang_up) as over:
        try:
            with _opener(*map(os.environ.get, _PROXIES)).open(request, timeout=seconds) as answer:
                assert isinstance(answer, HTTPResponse)
                yield answer
                whole = answer.isclosed() or answer.length == 0
        except (OSError, HTTPException) as fault:
            if over.is_set():
                raise TimeoutError from fault
            raise
    if over.is_set():  # what was read until then may look like a whole answer
        raise TimeoutError
    if whole and kept is not None and _EXCHANGE.connection is not None:
        kept.append(_EXCHANGE.connection)


_PROXIES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY")
_EXCHANGE = threading.local()
"""Of the request under way in a thread the sockets that were `opened`, its `connection`, and those that are `kept`."""
_IDLE_SECONDS = 2.0  # servers hang up on who is idle, the first after five


class Connection(HTTPConnection):
    """A connection that can be kept: what urllib closes with every answer, and what `opened` must know of."""

    idle: tuple[socket.socket, float, int] | None = None
    """Its socket between two requests, since when, and in which process."""

    def connect(self) -> None:
        """Connect, each socket noted."""
        create = self._create_connection  # type: ignore[has-type]

        def noted(*arguments: Any, **options: Any) -> Any:
            _EXCHANGE.opened.append(create(*arguments, **options))  # before the handshake, which can take for ever, too
            return _EXCHANGE.opened[-1]

        self._create_connection = noted
        super().connect()
        _EXCHANGE.opened.append(self.sock)

    def request(self, method: str, url: str, body: Any = None, headers: Any = None, **options: Any) -> None:
        """Send a request over the socket that was kept, or a new one."""
        if _EXCHANGE.kept is not None:
            headers = {**headers, "Connection": "keep-alive"}
        if self.idle is not None:
            self.sock, self.idle = self.idle[0], None
            _EXCHANGE.opened.append(self.sock)
        super().request(method, url, body, headers, **options)

    def getresponse(self) -> HTTPResponse:
        """The answer; the socket is kept where it may be."""
        answer = super().getresponse()
        if _EXCHANGE.kept is not None and self.sock is not None:
            self.idle, self.sock = (self.sock, time.monotonic(), os.getpid()), None
            _EXCHANGE.connection = self
        return answer

    def is_usable(self) -> bool:
        """Whether it was kept a moment ago, and nothing came since: that would be that the other side hangs up."""
        if self.idle is None:
            return False
        kept, since, process = self.idle
        look = select.poll()
        look.register(kept, select.POLLIN)
        return process == os.getpid() and time.monotonic() - since < _IDLE_SECONDS and not look.poll(0)

    def __del__(self) -> None:
        if self.idle is not None:
            self.idle[0].close()


class _OverTLS(Connection, HTTPSConnection):
    """`connect` as noted, then TLS."""


def _connection(kind: type[Connection], host: str, **options: Any) -> Connection:
    """One of those that are kept to the host, or a new one."""
    new = kind(host, **options)
    while _EXCHANGE.kept:
        old: Connection = _EXCHANGE.kept.pop()
        if (type(old), old.host, old.port) == (kind, new.host, new.port) and old.is_usable():
            return old
    return new


class _Handler(urllib.request.HTTPHandler):
    https_request = urllib.request.HTTPHandler.http_request

    def http_open(self, request: urllib.request.Request) -> HTTPResponse:
        return self.do_open(partial(_connection, Connection), request)

    def https_open(self, request: urllib.request.Request) -> HTTPResponse:
        with _FIRST:  # who asks from many threads reads the certificates once
            context = _certificates()
        return self.do_open(partial(_connection, _OverTLS), request, context=context)


_FIRST = threading.Lock()
_certificates = lru_cache(ssl.create_default_context)


@lru_cache
def _opener(*_proxies: str | None) -> urllib.request.OpenerDirector:
    """An opener without the handlers that would leave the address it is given; it notes every socket it opens, and is
    kept while the environment names the same proxies."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        _Handler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


SECRET_OPTION = re.compile(r"password|passwd|pwd|secret|token|key", re.IGNORECASE)
"""What an option of an address is called that holds a secret."""

_PASSWORD = re.compile(r"://[^/@:]*:(?!\$\{\w+\}@)[^?]+@")
_OPTION = re.compile(r"[?&]([^=&]*)=(?!\$\{\w+\}(?:&|$))[^&]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SET_IT = "set it where Assay and its workers run"
_READ_BY_LIBRARIES = {
    "s3": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    "s3a": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    "abfs": ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_CLIENT_SECRET"),
    "az": ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_CLIENT_SECRET"),
    "models": ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN"),
}
"""The variables that a library reads by itself, by the scheme of what is asked of it."""


def secret_from(variable: str, lead: str = "", *, ascii_only: bool = False) -> str:
    """The secret that an environment variable holds, without the white space around it; masked from now on.

    An `InputError`, which begins with the `lead` and names the variable alone, where there is none or where it cannot
    be used: a line break would end a header, and letters beyond ASCII reach no header or address whole.
    """
    register_secret(variable, os.environ.get(variable, ""))
    return value_from(variable, lead, ascii_only=ascii_only)


def value_from(variable: str, lead: str = "", *, ascii_only: bool = False) -> str:
    """The same of a variable whose value may be no secret, such as the name of a host."""
    value = os.environ.get(variable, "").strip()
    if not value:
        raise InputError(f"{lead}the environment variable {variable} is not set: {_SET_IT}.")
    _require_clean(variable, value, lead, ascii_only)
    return value


def secret_addresses(variable: str) -> list[str]:
    """The addresses with white space between them that an environment variable holds, each a secret."""
    addresses = os.environ.get(variable, "").split()
    if not addresses:
        raise InputError(f"the environment variable {variable} is not set: {_SET_IT}.")
    for address in addresses:
        register_secret(variable, address)
        _require_clean(variable, address, "", ascii_only=False)
    return addresses


def require_usable(url: str) -> None:
    """Nothing; or the sentence for a secret with a line break in it, of those that a library reads for such a URL."""
    for variable in _READ_BY_LIBRARIES.get(url.partition(":")[0], ()):
        if os.environ.get(variable, "").strip():
            os.environ[variable] = secret_from(variable, f"What reads {url[:60]} uses it: ", ascii_only=True)


def register_secret(variable: str, value: str) -> None:
    """Mask what a variable holds; of an address also its parts, for it is the secret."""
    if "://" in value:
        register_address(variable, value.strip(), secret=True)
    elif value.strip():
        register(variable, value)


def _require_clean(variable: str, value: str, lead: str, ascii_only: bool) -> None:
    if _CONTROL.search(value):
        trouble = "holds a line break or another control character within its value"
    elif ascii_only and not value.isascii():
        trouble = "holds letters beyond ASCII, which no header or address carries"
    else:
        return
    raise InputError(f"{lead}the environment variable {variable} {trouble}: set it to the secret alone.")


def has_password(address: str) -> bool:
    """Whether a secret is written out in an address.

    >>> has_password("s3://key:abc@bucket"), has_password("postgresql://night:${DB_PASSWORD}@db/clinic")
    (True, False)
    """
    return bool(_PASSWORD.search(address)) or any(map(SECRET_OPTION.search, _OPTION.findall(address)))


def without_password(addresses: tuple[str]) -> tuple[str]:
    """The address, or a `ValueError` for one with a secret written out.

    >>> without_password(("postgresql://night:${DB_PASSWORD}@db/clinic",))
    ('postgresql://night:${DB_PASSWORD}@db/clinic',)
    """
    if has_password(addresses[0]):
        raise ValueError(
            "there is a password in it, which everybody would read who reads this file: keep it in an environment "
            "variable, and write its name, as in postgresql://night:${DB_PASSWORD}@db/clinic"
        )
    return addresses
