"""Credentials come from environment variables, and nobody else sees them: read, checked and masked from then on.

`pipelines.yaml` names the variables; what is written out there is refused. `infra/masking.py` keeps their values out of
whatever is said or written down.
"""

from __future__ import annotations

import os
import re

from assay.infra.errors import InputError
from assay.infra.masking import register, register_address

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
