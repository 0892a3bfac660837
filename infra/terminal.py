"""The one gate between text and a terminal: what data, settings, names or other people's errors bring along may not
move the cursor, colour the screen, set a title or turn the direction of reading; and secrets do not pass.
"""

from __future__ import annotations

import json
import re

from assay.infra.masking import mask, masked_in

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Control letters but for tab and new line, marks of direction, and halves of letters that no encoding can write."""


def printable(text: str) -> str:
    """The text with a replacement mark for each letter that a terminal would obey instead of showing it.

    >>> printable("a\\x1b[31mb\\u202ec\\r\\nd")
    'a�[31mb�c\\nd'
    """
    return _UNSEEN.sub("\ufffd", mask(text).replace("\r\n", "\n"))


def json_text(value: object, indent: int | None = None) -> str:
    """The value as JSON, the same letters escaped: nothing is lost, and nothing is obeyed.

    >>> json_text({"name": "a\\u202eb"})
    '{"name": "a\\\\u202eb"}'
    """
    written = json.dumps(masked_in(value), ensure_ascii=False, indent=indent, allow_nan=False)
    return _UNSEEN.sub(lambda letter: f"\\u{ord(letter[0]):04x}", written)
