"""Where a rulebook comes from: a name of ours, an importable `module:object`, or a file beside the pipelines file.

What travels to the workers is a `RulebookReference`: where the rules are and, for a file, the bytes of it and of the
modules beside it that it imports. Its fingerprint is the content of exactly that code, so that an edited rule votes
again and an untouched one does not; so does one whose word lists were edited, in files that it reads.
"""

from __future__ import annotations

import difflib
import hashlib
import pkgutil
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from assay.infra.blame import blamed_on
from assay.infra.code_reference import CodeReference
from assay.infra.code_referring import NOTHING_ELSE, refer_to_module
from assay.infra.errors import InputError
from assay.infra.settings import StandsOn
from assay.tasks.labeling import rulebooks
from assay.tasks.labeling.rules import Rulebook, rules_of

_OURS = {
    "alarms": "662426726c732ee534d7aaf0fc95a0b1d632b224672d17f52850b0acb0295ca1",
    "breast_cancer": "02ac079a9c2d7e36467cf15579ea04b16cb6e7d3dcf64b2987841a6b9cd192bd",
    "lesions": "0a91fde9abdf157c5c9f5d2c9039797218132a39860087cedec8eb2917c5f9a6",
    "reviews": "ee6583348fc0a2553d4e018e790c0c2accd19940f6d50bf56d8827493f2a549d",
    "youtube_spam": "9d0f29469e0c2b48b2c0d731a26f0395a68970459b952656e7ea4b02eecd222b",
}
"""The fingerprints of our own rulebooks. One whose votes change gets another here, as a stage gets another version:
`stage_versions.lock` holds what their code is."""


@dataclass(frozen=True)
class RulebookReference:
    """A rulebook by reference: picklable, hashable, and equal exactly when the code behind it is."""

    functions: str
    code: CodeReference
    attribute: str | None

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the rule module's source, of every module of the same origin that it imports, and of the name.

        A rulebook of ours has the one that is declared for it, so that moving our code makes nobody vote again.
        """
        package, _, name = self.code.module.rpartition(".")
        if package == rulebooks.__name__ and not self.attribute and not self.code.shipped and name in _OURS:
            return _OURS[name]
        return hashlib.sha256(f"{self.code.fingerprint}:{self.attribute or ''}".encode()).hexdigest()

    def load(self) -> Rulebook:
        """The rulebook itself; each process reads it once."""
        return _load(self)

    def at_work(self) -> AbstractContextManager[None]:
        """Within the block its functions are asked: kept in their folder, and heard in what they read."""
        return self.code.at_work("rulebook")


def refer_to_rulebook(
    functions: str, beside: Path | None = None, stands_on: StandsOn = NOTHING_ELSE
) -> RulebookReference:
    """The reference behind what `labeling.functions` says; paths count from the folder `beside`.

    The rulebook is loaded once on the way, so that what is wrong with it is said before anything runs.

    >>> refer_to_rulebook("breast-cancer").load().classes
    ('malignant', 'benign')
    """
    place, _, attribute = functions.partition(":")
    with blamed_on("functions", functions):
        if not place.endswith(".py") and not attribute and "." not in place:
            place = _module_of_ours(functions)
        code = refer_to_module(functions, place, beside or Path.cwd(), stands_on)
        reference = RulebookReference(functions, code, attribute or None)
        reference.load()
    return reference


def _module_of_ours(name: str) -> str:
    known = sorted(found.name.replace("_", "-") for found in pkgutil.iter_modules(rulebooks.__path__))
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"There are {', '.join(known)}."
        raise InputError(
            f'There is no rulebook "{name}". {hint} Your own rules are a file.py beside the pipelines file, '
            "or module:object."
        )
    return f"{rulebooks.__name__}.{name.replace('-', '_')}"


@lru_cache(maxsize=32)
def _load(reference: RulebookReference) -> Rulebook:
    """The module's `RULEBOOK`, the object asked for, or a rulebook made of its `CLASSES` and rules."""
    names = vars(reference.code.load())
    attribute = reference.attribute or ("RULEBOOK" if "RULEBOOK" in names else None)
    if attribute is not None and attribute not in names:
        close = difflib.get_close_matches(attribute, [name for name in names if not name.startswith("_")], n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise InputError(f'The rules in "{reference.functions}" hold no object named {attribute!r}.{hint}')
    value = names[attribute] if attribute else names.get("RULES", rules_of(list(names.values())))
    if isinstance(value, Rulebook):
        return value
    if not isinstance(value, list | tuple):
        raise InputError(
            f'"{reference.functions}" names a {type(value).__name__}, expected a Rulebook or a list of rules.'
        )
    if "CLASSES" not in names:
        raise InputError(
            f'The rules in "{reference.functions}" do not say which classes their votes stand for: add a line such as '
            'CLASSES = ("ham", "spam"), in the order of the votes 0, 1, ….'
        )
    return Rulebook(reference.functions, names["CLASSES"], value)
