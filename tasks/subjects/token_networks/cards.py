"""The card beside the weights of a subject that reads: who it is, how it came about, and what it consists of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

CARD = "card.json"


def sealed_card(card: Mapping[str, Any], files: Mapping[str, bytes], made_of: str) -> dict[str, bytes]:
    """The card as a file; its fingerprint is that of `made_of` and of the files beside it.

    >>> "fingerprint" in json.loads(sealed_card({"kind": "own"}, {}, "code")[CARD])
    True
    """
    state = hashlib.sha256(made_of.encode())
    for name in sorted(files):
        state.update(f"\0{name}\0{hashlib.sha256(files[name]).hexdigest()}".encode())
    whole = dict(card) | {"fingerprint": state.hexdigest()}
    return {CARD: json.dumps(whole, indent=2, sort_keys=True, ensure_ascii=False).encode()}
