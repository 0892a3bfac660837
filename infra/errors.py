"""What went wrong, in the user's words: every error is a sentence and a way out, names the setting that is to blame,
and suggests the name that was probably meant.
"""

from __future__ import annotations

import difflib
import functools
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from typing import ParamSpec, Self, TypeVar

from assay.infra.masking import mask


class Stopped(BaseException):
    """The run is over (interrupted, or broken elsewhere): what its other branches have under way is left as it is.

    No `Exception`, so that nothing on the way takes it for a failure of its own.
    """


P = ParamSpec("P")
V = TypeVar("V")


def requirements_of(extra: str) -> list[str]:
    """What an extra of ours brings, as pip writes it."""
    for installed_as in ("assay-audit", "assay-audit-core"):
        with suppress(PackageNotFoundError):
            lines = (line.partition(";")[::2] for line in requires(installed_as) or ())
            return [name.strip() for name, marker in lines if f'"{extra}"' in marker.replace("'", '"')]
    return []


def install_command(*extras: str) -> str:
    """The command that installs what extras of ours bring, by the names of the libraries.

    Not by our own name: until it is registered on the package index, whoever registers it would be installed.

    >>> install_command("delta")
    "pip install 'deltalake>=1.1'"
    """
    named = dict.fromkeys(name for extra in extras for name in requirements_of(extra))
    return " ".join(["pip install", *(f"'{name}'" for name in named)])


MOST_LETTERS = 20_000


def _bounded(text: str) -> str:
    """As much of a message as anybody reads: what it quotes may be of any length."""
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]} … ({len(text):,} letters in all)"


def absent_libraries(extra: str) -> list[str]:
    """The libraries of an extra that cannot be imported here."""
    names = [re.split(r"[^A-Za-z0-9._-]", requirement)[0] for requirement in requirements_of(extra)]
    return [name for name in names if not _is_importable(name.replace("-", "_"))]


def require_library(module: str, called: str, extra: str) -> None:
    """Nothing, or the sentence for a library that is not installed, with the command that installs its extra."""
    if not _is_importable(module):
        raise InputError(f"{called} is not installed: {install_command(extra)}")


def _is_importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:
        return False


class AssayError(Exception):
    """A failure that a person can act on; the message is a sentence, `exit_code` what the command line returns.

    What it quotes of another library's error may hold a secret, so it is masked.
    """

    exit_code = 3
    on_record = False
    """Whether the record of a run says it."""

    def __init__(self, *words: object) -> None:
        super().__init__(*(_bounded(mask(word)) if isinstance(word, str) else word for word in words))


class InputError(AssayError):
    """The data, the configuration or the command line is wrong: nothing ran, or nothing of this stage was kept."""

    exit_code = 2


class SettingError(InputError):
    """One setting names what is not there: `setting` is its name, `word` what stands there."""

    def __init__(self, message: str, setting: str, word: str) -> None:
        super().__init__(message)
        self.setting, self.word = setting, word

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, str]]:
        return type(self), (str(self), self.setting, self.word)


class UnwritableError(InputError):
    """Nothing can be written where it has to be: no space is left, or it is forbidden."""


class FullDiskError(UnwritableError):
    """No space is left: nothing is wrong with what was asked, and the run goes on where it was once there is some."""

    exit_code = 3


class RunError(AssayError):
    """The input was fine, the run broke: a worker, a disk, a partition, a result that contradicts an earlier one."""

    exit_code = 3


class MaskedError(Exception):
    """Stands for another library's error whose words hold a secret: the name of its type, and its words, masked."""

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(kind, mask(words))

    def __str__(self) -> str:
        return f"{self.args[0]}: {self.args[1]}"


def error_text(error: BaseException | None, masked: bool = False) -> str:
    """What went wrong; `masked`, only the type of an error that is none of Assay's, whose words may quote the data.

    >>> error_text(KeyError("a word")), error_text(KeyError("a word"), masked=True)
    ("KeyError: 'a word'", 'KeyError')
    >>> error_text(InputError("No file."), masked=True)
    'No file.'
    """
    if isinstance(error, AssayError):
        return str(error)
    kind = error.args[0] if isinstance(error, MaskedError) else type(error).__name__
    if masked:
        return str(kind)
    return str(error) if isinstance(error, MaskedError) else mask(f"{kind}: {error}")


def without_secrets(error: BaseException) -> BaseException:
    """The error; or, where it or one that it came from holds a secret, one of the same words and place, masked."""
    trace = "".join(traceback.format_exception(error)) + repr(error)
    if mask(trace) == trace:
        return error
    origin = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    masked = error if isinstance(error, AssayError) else MaskedError(type(error).__name__, str(error))
    masked.__traceback__ = error.__traceback__
    masked.__cause__ = None if origin is None else without_secrets(origin)
    masked.__context__ = None
    return masked


def called_without_secrets(work: Callable[[], V]) -> V:
    """What the work gives; what it raises leaves without secrets, for whoever logs, pickles or prints it."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - it goes on, outside of this block: else it would come along as context
        raised = without_secrets(error)
    raise raised


def raises_no_secrets(function: Callable[P, V]) -> Callable[P, V]:
    """A decorator for what somebody else calls, such as Prefect or a notebook, and whose errors they print."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> V:
        return called_without_secrets(lambda: function(*args, **kwargs))

    return call


def reason_of(error: BaseException) -> str:
    """The first line of an error without its full stop and without secrets, or its name where it says nothing.

    >>> reason_of(OSError("no such bucket.")), reason_of(ValueError("\\nbad magic\\nat 4")), reason_of(TimeoutError())
    ('no such bucket', 'bad magic', 'TimeoutError')
    """
    return (mask(str(error)).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


@contextmanager
def blame_setting(setting: str, word: str | None = None) -> Iterator[None]:
    """Within the block, what is wrong is wrong with the setting, unless an error names another one.

    `setting` is its name, with its position where it stands in a list (`providers.1`); `word` is what stands there.

    >>> with blame_setting("weights", "net.pt"):
    ...     raise InputError("There is no such file.")
    Traceback (most recent call last):
    assay.infra.errors.SettingError: There is no such file.
    """
    try:
        yield
    except SettingError:
        raise
    except InputError as error:
        raise SettingError(str(error), setting, word or "") from error


@contextmanager
def faults_in_words(sentence: Callable[[Exception], str], masked: bool = False) -> Iterator[None]:
    """Within the block, what somebody else's code raises becomes an `InputError`, with the sentence made of it.

    `masked`, the fault itself, whose words may quote the data, is no part of its trace.

    >>> with faults_in_words(lambda fault: f"The model raised {type(fault).__name__}."):
    ...     _ = 1 / 0
    Traceback (most recent call last):
    assay.infra.errors.InputError: The model raised ZeroDivisionError.
    """
    try:
        yield
    except AssayError:
        raise
    except Exception as fault:  # noqa: BLE001 - whatever it is, it is said
        raise InputError(sentence(fault)) from (None if masked else fault)


def setting_path(setting: str) -> tuple[str | int, ...]:
    """The steps to a setting.

    >>> setting_path("providers.1"), setting_path("weights")
    (('providers', 1), ('weights',))
    """
    return tuple(int(step) if step.isdecimal() else step for step in setting.split("."))


MOST_LISTED = 40
"""Of more names than this, only the first are listed."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, if any is close; capitals do not matter.

    >>> nearest("brest-cancer", ["digits", "breast-cancer"]), nearest("SGD", ["adam", "sgd"])
    ('breast-cancer', 'sgd')
    """
    closest = _closest(word, known)
    return closest[0] if closest else None


def suggestion(word: str, known: Iterable[str]) -> str:
    """What to say of an unknown word: the one that was probably meant, else all that are known.

    >>> suggestion("corelation", ["correlation", "rank"])
    'did you mean correlation?'
    >>> suggestion("x", ["correlation", "rank"]), suggestion("x", [])
    ('known here: correlation, rank', 'none is known here')
    >>> suggestion("pgd-3", ["pgd-2", "pgd-4", "gap-7"])
    'did you mean pgd-4 or pgd-2?'
    """
    names = list(dict.fromkeys(known))
    closest = _closest(word, names)
    if closest:
        *others, last = closest
        return f"did you mean {', '.join(others)} or {last}?" if others else f"did you mean {last}?"
    return f"known here: {first_named(names, MOST_LISTED)}" if names else "none is known here"


def all_named(names: Sequence[str]) -> str:
    """All of some names, as a sentence has them.

    >>> all_named(["a", "b", "c"]), all_named(["a"]), all_named([])
    ('a, b and c', 'a', '')
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def first_named(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are.

    >>> first_named(["a", "b", "c"], 2), first_named(["a", "b", "c"], 3)
    ('a, b and 1 more', 'a, b, c')
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _closest(word: str, known: Iterable[str]) -> list[str]:
    """The words that are closest, and equally close; at most three."""
    names = {name.lower(): name for name in known}
    matches = difflib.get_close_matches(word.lower(), names, n=3, cutoff=0.6)
    closeness = [difflib.SequenceMatcher(None, name, word.lower()).ratio() for name in matches]
    return [names[name] for name, ratio in zip(matches, closeness, strict=True) if ratio == closeness[0]]
