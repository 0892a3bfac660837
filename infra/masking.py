"""Text without secrets: wherever one stands, as it is or encoded, the name of its environment variable stands
instead.

A secret is recognised by its letters, each of which may be written as URLs, JSON, HTML or Python write it, and in
base64; also one that somebody cut off after its first letters. What passes through here: the messages of our errors,
all that goes to a terminal, log lines, the sentences of records, and pages. Data never does.
"""

from __future__ import annotations

import binascii
import logging
import os
import re
import sys
import threading
import traceback
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import unquote

ANCHOR = 12
"""So many letters of a longer secret are recognised where the rest of it was cut off."""
_LEAST = 6  # letters of a secret that is masked wherever it stands
_PLAIN = re.compile(r"[A-Za-z0-9_.-]{3,}")
_GUESSABLE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_BEFORE, _AFTER = r"(?:(?<=[:=])|(?<=b['\"])|(?<=Bearer )|(?<=Basic ))", r"(?=[@&;,)\s\\'\"]|$)"
_UNITS = re.compile(r"\s+|\\+|.", re.DOTALL)
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&(?:#x27|#39|apos);"}

SECRET_VARIABLE = re.compile(
    r"PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL|AUTHORIZATION|WEBHOOK|TOKEN(?!IZER)|PRIVATE_KEY"
    r"|(?:AUTH|CONNECTION)_STRING"
    r"|(?:API|ACCESS|ACCOUNT|AUTH|ENCRYPTION|SHARED|SIGNING|STORAGE)_?KEY|_PWD$|SSHPASS|PGPASS",
    re.IGNORECASE,
)
"""What an environment variable is called that holds a secret."""
_ELSEWHERE = re.compile(r"_(?:FILE|PATH|DIR|NAME|EXPIRATION|TYPE)$|^GOOGLE_APPLICATION_CREDENTIALS$", re.IGNORECASE)
_OF_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@]*:([^/\s]+)@", re.IGNORECASE)
_SCHEME = re.compile(r"\s*(?:apikey|basic|bearer|digest|key|negotiate|token)\s+", re.IGNORECASE)
_READ_BY_LIBRARIES = ("AWS_", "AZURE_", "GOOGLE_", "HF_", "HUGGING_FACE_", "MLFLOW_", "PREFECT_")


@lru_cache(maxsize=4096)
def _written(unit: str) -> re.Pattern[str]:
    """A letter, or a run of blanks or backslashes, in all the ways that it may be written."""
    if _PLAIN.fullmatch(unit * 3):
        return re.compile(re.escape(unit))
    if unit.isspace():
        return re.compile(r"(?:\s|\\{1,16}(?:[nrt]|x0[9ad]|u000[9ad])|%(?:25)*(?:20|09|0A|0D)|\+)+", re.IGNORECASE)
    if unit[0] == "\\":
        return re.compile(r"(?:\\|%(?:25)*5C)+", re.IGNORECASE)
    ways = [re.escape(unit), f"u{ord(unit):04x}", f"U{ord(unit):08x}", f"&#x{ord(unit):x};", f"&#{ord(unit)};"]
    for encoding in ("utf-8", "latin-1", "utf-16-be"):
        content = unit.encode(encoding, "surrogatepass" if encoding != "latin-1" else "ignore")
        if encoding == "utf-16-be":
            ways.append("".join(rf"\\{{0,16}}u{content[at : at + 2].hex()}" for at in range(0, len(content), 2)))
        elif content:
            ways += ["".join(f"%(?:25)*{byte:02x}" for byte in content), r"\\{0,16}".join(f"x{b:02x}" for b in content)]
            ways.append(re.escape(content.decode("latin-1")))
    ways += [_HTML[unit]] if unit in _HTML else []
    ways += [] if unit.isascii() else ["\ufffd+", r"\?+"]
    ways += ["-", "_"] if unit in "+/" else []  # base64 for addresses
    return re.compile(rf"\\{{0,16}}(?:{'|'.join(ways)})", re.IGNORECASE)


@dataclass(frozen=True)
class _Spelling:
    """One way in which a secret may stand in a text."""

    units: tuple[str, ...]
    name: str
    whole: bool = False
    """Whether it is a secret only if all of it is there: addresses begin alike."""
    guessable: bool = False
    """Whether it is so short or plain that it is masked only where a secret stands, as in `:a@` or `token=a`."""

    @cached_property
    def probe(self) -> str:
        """Letters that are in any text in which it is; empty where all of them may be written otherwise."""
        return max(_PLAIN.findall("".join(self.units[:ANCHOR])), key=len, default="")

    @cached_property
    def _anchor(self) -> re.Pattern[str]:
        begin = "".join(f"(?:{_flagged(unit)})" for unit in self.units[:ANCHOR])
        return re.compile(rf"{_BEFORE}{begin}{_AFTER}" if self.guessable else rf"(?<!\$\{{){begin}")

    def masked(self, text: str) -> str:
        """The text without it."""
        if self.probe not in text:
            return text
        parts, end = [], 0
        for begin in self._anchor.finditer(text):
            if begin.start() < end:
                continue
            stop, complete = self._stop(text, begin.end())
            if complete or not self.whole:
                parts += [text[end : begin.start()], f"${{{self.name}}}"]
                end = stop
        return "".join([*parts, text[end:]]) if parts else text

    def _stop(self, text: str, at: int) -> tuple[int, bool]:
        """Where it ends that began before `at`, and whether all of it stands there."""
        for unit in self.units[ANCHOR:]:
            following = _written(unit).match(text, at)
            if following is None:
                return at, False
            at = following.end()
        return at, True


def _flagged(unit: str) -> str:
    """The pattern of a unit to stand within another."""
    pattern = _written(unit)
    return f"(?i:{pattern.pattern})" if pattern.flags & re.IGNORECASE else pattern.pattern


_spellings: tuple[_Spelling, ...] | None = None
_lock = threading.RLock()


def mask(text: str) -> str:
    """The text with the name of its variable in place of every secret that this process knows.

    >>> register("SPAM_TOKEN", "t0p/s3cret")
    >>> mask("Invalid header value b'Bearer t0p/s3cret'"), mask("GET /?token=t0p%2Fs3cret")
    ("Invalid header value b'Bearer ${SPAM_TOKEN}'", 'GET /?token=${SPAM_TOKEN}')
    >>> forget("SPAM_TOKEN")
    """
    for spelling in _known():
        text = spelling.masked(text)
    return text


def mask_page(page: str) -> str:
    """The same of markup, whose sentences are masked already: what is short or plain may be a part of the markup."""
    for spelling in _known():
        page = page if spelling.guessable else spelling.masked(page)
    return page


def masked_in(value: Any) -> Any:
    """The same lists and mappings with every text in them masked."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {masked_in(name): masked_in(item) for name, item in value.items()}
    return [masked_in(item) for item in value] if isinstance(value, list | tuple) else value


def register(name: str, value: str, *, whole: bool = False) -> None:
    """From now on this process masks the value by the variable's name, also its lines, and what `Basic` holds in it."""
    scheme = _SCHEME.match(value)
    credential = value[scheme.end() :].strip() if scheme else ""
    secrets = [credential, *_decoded(credential)] if credential else [value.strip()]
    if len(lines := value.splitlines()) > 1:
        secrets += [line.strip() for line in lines if len(line.strip()) >= ANCHOR and not line.startswith("-----")]
    _add(spelling for secret in secrets if secret for spelling in _spellings_of(name, secret, whole))


def register_address(name: str, value: str, *, secret: bool = False) -> None:
    """Mask an address that holds a password, and the password; of one that is a `secret` itself its parts as well."""
    password = _OF_ADDRESS.match(value)
    if password:
        for spelling in {password[1], unquote(password[1])}:
            register(name, spelling)
    if password or secret:
        register(name, value, whole=True)
    if secret:
        scheme, _, rest = value.partition("://")
        path = rest.partition("/")[2] if scheme.lower() in ("http", "https") else rest
        register(name, f"/{path}", whole=True)
        host = rest.partition("/")[0].rpartition("@")[2].partition(":")[0]
        for part in re.split(r"[/:@?&=#;,]+", path):
            is_host = part == host and "." in part  # some services have a token in its place, which has no dot
            if len(part) >= 8 and any(letter.isdigit() for letter in part) and not is_host:
                register(name, unquote(part))


def register_environment() -> None:
    """Mask what environment variables hold whose names say that it is secret, and passwords in addresses in any."""
    for name, value in os.environ.items():
        if _OF_ADDRESS.match(value):
            register_address(name, value.strip())
        elif SECRET_VARIABLE.search(name) and not _ELSEWHERE.search(name) and len(value.strip()) >= _LEAST:
            register(name, value, whole="://" in value)


def strip_environment() -> None:
    """Take the line break off secrets that libraries read from the environment themselves."""
    for name, value in os.environ.items():
        if name.startswith(_READ_BY_LIBRARIES) and SECRET_VARIABLE.search(name) and value != value.strip():
            os.environ[name] = value.strip()


def forget(name: str) -> None:
    """The variable's secret is none any more: for tests, which share a process."""
    global _spellings
    with _lock:
        _spellings = tuple(spelling for spelling in _known() if spelling.name != name)


def _known() -> Sequence[_Spelling]:
    global _spellings
    if _spellings is None:
        with _lock:
            if _spellings is None:
                _spellings = ()
                register_environment()
    return _spellings


def _add(more: Iterable[_Spelling]) -> None:
    """Longer ones first: a secret may be a part of another."""
    global _spellings
    with _lock:
        known = _known()
        there = {spelling.units for spelling in known}
        new = {spelling.units: spelling for spelling in more if spelling.units not in there}
        if new:
            _spellings = tuple(sorted([*known, *new.values()], key=lambda spelling: -len(spelling.units)))
            _mask_log_lines()


def _spellings_of(name: str, secret: str, whole: bool) -> Iterator[_Spelling]:
    plain = bool(_GUESSABLE.fullmatch(secret)) and len(secret) < ANCHOR
    guessable = len(secret) < _LEAST or plain
    yield _Spelling(tuple(_UNITS.findall(secret)), name, whole, guessable)
    for core in () if guessable else _base64_cores(secret.encode(errors="surrogateescape")):
        yield _Spelling(tuple(core), name, whole)


def _base64_cores(content: bytes) -> Iterator[str]:
    """What base64 makes of the content wherever it begins in a longer one, such as `user:password`."""
    for before in range(3):
        encoded = binascii.b2a_base64(bytes(before) + content, newline=False).decode()
        core = encoded[(0, 2, 3)[before] : (before + len(content)) * 8 // 6]
        if len(core) > _LEAST:
            yield core


def _decoded(credential: str) -> list[str]:
    """The `user:password` behind `Basic …`, and the password alone."""
    try:
        pair = binascii.a2b_base64(credential, strict_mode=True).decode()
    except (ValueError, UnicodeDecodeError):
        return []
    return [pair, pair.partition(":")[2]] if ":" in pair else []


_writing_masked = False


def _mask_log_lines() -> None:
    """Every log line that this process makes from now on, whoever writes it and where it goes, is masked."""
    global _writing_masked
    if _writing_masked:
        return
    _writing_masked = True
    made = logging.getLogRecordFactory()

    def make(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = made(*args, **kwargs)
        try:
            words = record.getMessage()
        except Exception:  # noqa: BLE001 - a line that does not fit its values: logging complains where it is written
            return record
        if (masked := mask(words)) != words:
            record.msg, record.args = masked, ()
        if record.exc_info and record.exc_info[0] is not None:
            trace = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
            if (masked := mask(trace)) != trace:
                record.exc_text, record.exc_info = masked, None
        return record

    logging.setLogRecordFactory(make)


def mask_complaints() -> None:
    """What Python itself prints of errors that nobody caught, also in threads, and of warnings, is masked."""
    warned: Callable[..., str] = warnings.formatwarning

    def print_masked(kind: type[BaseException], error: BaseException | None, trace: types.TracebackType | None) -> None:
        sys.stderr.write(mask("".join(traceback.format_exception(kind, error, trace))))

    def in_thread(failed: threading.ExceptHookArgs) -> None:
        if failed.exc_type is not SystemExit:
            print_masked(failed.exc_type, failed.exc_value, failed.exc_traceback)

    sys.excepthook, threading.excepthook = print_masked, in_thread
    warnings.formatwarning = lambda *args, **kwargs: mask(warned(*args, **kwargs))
