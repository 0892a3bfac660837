"""Which setting is to blame, said where it is found: an error carries the setting's name and what stands there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from assay.infra.errors import InputError, SettingError


@contextmanager
def blamed_on(setting: str, word: str | None = None) -> Iterator[None]:
    """Within the block, what is wrong is wrong with the setting, unless an error names another one.

    `setting` is its name, with its position where it stands in a list (`providers.1`); `word` is what stands there.

    >>> with blamed_on("weights", "net.pt"):
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


def steps_to(setting: str) -> tuple[str | int, ...]:
    """The steps to a setting.

    >>> steps_to("providers.1"), steps_to("weights")
    (('providers', 1), ('weights',))
    """
    return tuple(int(step) if step.isdecimal() else step for step in setting.split("."))
