"""Who did what in a store: an append-only log in which every entry carries the sha256 of the one before it.

`log/000000001.json` and so on. An entry is made by whoever comes first, once: who comes second looks again at what is
there by then, so that two processes never make a fork. What is changed, removed or put in between later breaks the
chain; what is cut off at its end is seen by whoever has a later entry, as every signed run does.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import re
import socket
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from assay.infra.errors import InputError
from assay.infra.masking import masked_in
from assay.infra.storage.store import Store

LOG, _ATTEMPTS, _READERS = "log", 100, 32  # so often may others come first; so many entries are read at a time
_NAME = re.compile(rf"{LOG}/\d{{9}}\.json")
_SHA256 = re.compile(r"\b[0-9a-f]{64}\b")
_OF_THE_CHAIN = ("number", "before", "id", "at", "by", "action")
Entry = dict[str, Any]


def log_action(store: Store, action: str, **about: object) -> Entry:
    """Append that somebody did something."""
    return append_to_log(store, action, lambda _: about)


def append_to_log(store: Store, action: str, about: Callable[[Iterator[Entry]], Mapping[str, object]]) -> Entry:
    """Append an action; what is said of it may depend on the entries before it, which come the latest first."""
    for _ in range(_ATTEMPTS):
        names = _names(store)
        latest = store.folder.read(names[-1]) if names else b""
        number = 1 + int(names[-1].rpartition("/")[2].removesuffix(".json") if names else 0)
        before = (store.folder.read_json(name) or {} for name in reversed(names))
        entry = {
            "number": number,
            "before": hashlib.sha256(latest).hexdigest(),
            "id": uuid.uuid4().hex,  # no two entries are alike: see Folder.create
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "by": f"{user_name()}@{socket.gethostname()}",
            "action": action,
            **masked_in(dict(about(before))),
        }
        if store.folder.create(f"{LOG}/{number:09d}.json", json.dumps(entry).encode()):
            return entry
    raise InputError(f"{store.url}/{LOG}/{number:09d}.json is in the way of the log and no entry of it: remove it.")


def log_lines(store: Store) -> list[bytes]:
    """The entries of a store's log as they lie there; of a remote one many are asked for at a time."""
    with ThreadPoolExecutor(1 if store.folder.is_local else _READERS) as readers:
        return list(readers.map(store.folder.read, _names(store)))


def entries_in(lines: Iterable[bytes]) -> list[Entry]:
    """The entries of a log; raises at the first that does not follow the one before it.

    >>> entries_in([])
    []
    """
    entries, before = list[Entry](), b""
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
            follows = (entry["number"], entry["before"]) == (number, hashlib.sha256(before).hexdigest())
            follows &= all(isinstance(entry[name], str) for name in _OF_THE_CHAIN[1:])
        except (ValueError, TypeError, KeyError, RecursionError):
            follows = False
        if not follows:
            raise InputError(f"The log breaks at its entry {number}: that or the one before it was changed or removed.")
        entries.append(entry)
        before = line
    return entries


def entry_row(entry: Entry) -> list[object]:
    """An entry as it is listed: its number, when, who, what, and of what."""
    about = ((name, value if isinstance(value, list) else [value]) for name, value in entry.items() if value)
    shown = [f"{name} {', '.join(map(str, values))}" for name, values in about if name not in _OF_THE_CHAIN]
    shortened = _SHA256.sub(lambda match: f"{match[0][:12]}…", "; ".join(shown))
    return [entry["number"], entry["at"], entry["by"], entry["action"], shortened]


def _names(store: Store) -> list[str]:
    return sorted(name for name in store.folder.sizes(LOG) if _NAME.fullmatch(name))


def user_name() -> str:
    """Who runs this process, by name or number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user has a number and no name
        return f"uid {os.getuid()}"
