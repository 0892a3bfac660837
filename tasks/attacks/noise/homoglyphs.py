"""Letters that look the same and are others: Cyrillic or Greek in place of Latin."""

from __future__ import annotations

import numpy as np

from assay.tasks.attacks.noise.edits import Edit

# Out of Unicode's table of confusable characters (UTS 39); none of them is folded back by compatibility normalisation.
_LATIN = "aceijopsxyhdgqvwABCEHIJKMNOPSTXYZ"
_OTHERS = (
    "\u0430\u0441\u0435\u0456\u0458\u043e\u0440\u0455\u0445\u0443\u04bb\u0501\u0261\u051b\u0475\u051d"
    "\u0410\u0412\u0421\u0415\u041d\u0406\u0408\u041a\u041c\u039d\u041e\u0420\u0405\u0422\u0425\u03a5\u0396"
)
LOOK_ALIKES = dict(zip(_LATIN, _OTHERS, strict=True))
"""For each Latin letter that has one, a letter of another script that looks the same."""


def homoglyphs(text: str, generator: np.random.Generator) -> list[Edit]:
    """Every letter that has a look-alike, replaced by it; nothing is drawn, and texts keep their length.

    >>> [(edit.start, hex(ord(edit.new))) for edit in homoglyphs("box", np.random.default_rng(0))]
    [(1, '0x43e'), (2, '0x445')]
    """
    del generator  # which of them are made is drawn by whoever chooses
    return [Edit(place, place + 1, LOOK_ALIKES[letter]) for place, letter in enumerate(text) if letter in LOOK_ALIKES]
