"""What somebody's code stands on besides its source: files by content, and a version of what answers from elsewhere."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from assay.infra.errors import InputError
from assay.infra.settings import StandsOn, VersionCommand
from assay.infra.syntax import tree_of

Standing = tuple[tuple[str, str], ...]
"""Files as a person names them, each with the hash of its content, sorted."""

_COMMAND_SECONDS = 60
_ENDPOINT = re.compile(r"(https?|grpc|wss?)://\S+$")
_LONGEST_NAME = 1024


def digest_of(path: str | Path) -> str:
    """The hash of a file's content; asked again, the file is read again only if it looks touched."""
    state = os.stat(path)
    return _digest(str(path), state.st_ino, state.st_mtime_ns, state.st_ctime_ns, state.st_size)


@lru_cache(maxsize=4096)
def _digest(path: str, *_state: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def standing(paths: Iterable[Path], beside: Path) -> Standing:
    """The files, each named from the folder `beside` if it lies below it and by its name alone if not."""
    return tuple(sorted({(shown(path, beside), digest_of(path)) for path in paths}))


def shown(path: Path, beside: Path) -> str:
    """A path as somebody in the folder `beside` would write it.

    >>> shown(Path("/team/models/m.joblib"), Path("/team")), shown(Path("/mnt/m.joblib"), Path("/team"))
    ('models/m.joblib', '/mnt/m.joblib')
    """
    there = Path(os.path.abspath(path))
    root = Path(os.path.abspath(beside))
    return str(there.relative_to(root)) if there.is_relative_to(root) else str(there)


def named_files(stands_on: StandsOn, written: str, beside: Path) -> list[Path]:
    """The files that the settings name, those in named folders included."""
    paths: list[Path] = []
    for name in stands_on.files:
        path = beside / name
        if path.is_dir():
            paths += sorted(file for file in path.rglob("*") if file.is_file())
        elif path.is_file():
            paths.append(path)
        else:
            raise InputError(
                f'There is no file "{path}", which `files` says that "{written}" stands on; paths start beside '
                "pipelines.yaml."
            )
    return paths


def files_in_texts(sources: Iterable[bytes], folders: Iterable[str]) -> list[Path]:
    """The files that a source names as a whole text, from one of the folders: libraries open them unheard."""
    texts = {text for source in sources for text in _texts(source)}
    return [path for folder in dict.fromkeys(folders) for text in sorted(texts) if (path := _file(folder, text))]


def names_an_endpoint(sources: Iterable[bytes]) -> bool:
    """Whether a source names an address as a text of its own; a rule that only looks for `https://` in texts does not.

    >>> names_an_endpoint([b"URL = 'http://10.0.0.7:8000/predict'"]), names_an_endpoint([b"LINK = 'http://'"])
    (True, False)
    """
    return any(_ENDPOINT.match(text) for source in sources for text in _texts(source))


def version_of(stands_on: StandsOn, written: str, beside: Path, run: str, asks: bool) -> str:
    """What enters the key for answers that come from elsewhere: the version, or the run that `asks` anew."""
    if stands_on.never_cached or (asks and stands_on.version is None):
        return f"asked by run {run}"
    if isinstance(stands_on.version, VersionCommand):
        return f"version {_output_of(stands_on.version.command, written, str(beside), run)}"
    return "" if stands_on.version is None else f"version {stands_on.version}"


@lru_cache(maxsize=64)
def _output_of(command: str, written: str, folder: str, _run: str) -> str:
    """What the command prints, asked once in a run."""
    about = f'The `version` of "{written}" ({command})'
    try:
        answer = subprocess.run(
            shlex.split(command),
            cwd=folder,
            capture_output=True,
            timeout=_COMMAND_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, ValueError) as fault:
        raise InputError(f"{about} cannot be run: {fault}.") from fault
    except subprocess.TimeoutExpired as fault:
        raise InputError(f"{about} gave no answer within {_COMMAND_SECONDS} s.") from fault
    output = answer.stdout.decode(errors="replace").strip()
    if answer.returncode != 0 or not output:
        words = answer.stderr.decode(errors="replace").strip().splitlines()
        why = f"ended with code {answer.returncode}" if answer.returncode else "printed nothing"
        raise InputError(f"{about} {why}{f': {words[-1]}' if words else ''}; it should print the version that answers.")
    return output


def _texts(source: bytes) -> Iterator[str]:
    """The texts in a source that are no docstrings and could be names."""
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
            if 0 < len(text) <= _LONGEST_NAME and text.isprintable():
                yield text


def _file(folder: str, text: str) -> Path | None:
    path = Path(folder) / text
    try:
        return path if path.is_file() and path.suffix != ".py" else None
    except (OSError, ValueError):
        return None
