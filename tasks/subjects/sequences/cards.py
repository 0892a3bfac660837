"""The card beside a tagger's or a scorer's weights: who it is, how it came about, and what it consists of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from assay.tasks.subjects.resolved import ResolvedSubject

CARD = "card.json"


def card_file(subject: ResolvedSubject, files: Mapping[str, bytes], about: Mapping[str, Any]) -> dict[str, bytes]:
    """The card; its fingerprint covers the files beside it and what it says of them."""
    settings = subject.settings
    said = {"kind": subject.way, "who": f'The {subject.kind} "{settings.tagger or settings.scorer}"'} | dict(about)
    state = hashlib.sha256(subject.fingerprint.encode())
    state.update(json.dumps(said, sort_keys=True).encode())
    for name in sorted(files):
        state.update(f"\0{name}\0{hashlib.sha256(files[name]).hexdigest()}".encode())
    card = said | {"fingerprint": state.hexdigest()}
    return {CARD: json.dumps(card, indent=2, sort_keys=True, ensure_ascii=False).encode()}
