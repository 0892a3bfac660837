"""What went wrong, in the user's words. Every error here is one sentence (and a way out), never a traceback."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import ParamSpec, Self, TypeVar

from assay.infra.masking import mask

P = ParamSpec("P")
V = TypeVar("V")


class AssayError(Exception):
    """A failure that a person can act on; the message is a sentence, `exit_code` what the command line returns.

    What it quotes of another library's error may hold a secret, so it is masked.
    """

    exit_code = 3

    def __init__(self, *words: object) -> None:
        super().__init__(*(mask(one) if isinstance(one, str) else one for one in words))


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


class RunError(AssayError):
    """The input was fine, the run broke: a worker, a disk, a partition, a result that contradicts an earlier one."""

    exit_code = 3


class MaskedError(Exception):
    """Stands for another library's error whose words hold a secret: the name of its type, and its words, masked."""

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(kind, mask(words))

    def __str__(self) -> str:
        return f"{self.args[0]}: {self.args[1]}"


def told(error: BaseException | None, masked: bool = False) -> str:
    """What went wrong; `masked`, only the type of an error that is none of Assay's, whose words may quote the data.

    >>> told(KeyError("a word")), told(KeyError("a word"), masked=True), told(InputError("No file."), masked=True)
    ("KeyError: 'a word'", 'KeyError', 'No file.')
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
