"""What the card of a tagger or a scorer says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.token_networks.cards import sealed_card


def card_file(subject: ResolvedSubject, files: Mapping[str, bytes], about: Mapping[str, Any]) -> dict[str, bytes]:
    """The card; its fingerprint covers the files beside it and what it says of them."""
    settings = subject.settings
    card = {"kind": subject.way, "who": f'The {subject.kind} "{settings.named}"'} | dict(about)
    return sealed_card(card, files, subject.fingerprint + json.dumps(card, sort_keys=True))
