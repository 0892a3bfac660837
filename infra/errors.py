"""What went wrong, in the user's words. Every error here is one sentence (and a way out), never a traceback."""

from __future__ import annotations

from typing import Self


class AssayError(Exception):
    """A failure that a person can act on; the message is a sentence, `exit_code` what the command line returns."""

    exit_code = 3


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


def told(error: BaseException | None, masked: bool = False) -> str:
    """What went wrong; `masked`, only the type of an error that is none of Assay's, whose words may quote the data.

    >>> told(KeyError("a word")), told(KeyError("a word"), masked=True), told(InputError("No file."), masked=True)
    ("KeyError: 'a word'", 'KeyError', 'No file.')
    """
    if isinstance(error, AssayError):
        return str(error)
    return type(error).__name__ if masked else f"{type(error).__name__}: {error}"
