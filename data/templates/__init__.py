"""The longer texts that Assay writes for people, a file each: cards and notes of what is exported, and a CI job."""

from __future__ import annotations

import re
from pathlib import Path

_PLACE = re.compile(r"\{(\w+)\}")


def filled(template: str, /, **places: object) -> str:
    """The text of that name with what belongs in its places; braces around anything else stay.

    >>> filled("labeling.xml", shown_as="text", tag="Text", choices="").splitlines()[1]
    '  <Text name="shown" value="$text"/>'
    """
    text = Path(__file__).with_name(template).read_text(encoding="utf-8")
    return _PLACE.sub(lambda place: str(places.get(place[1], place[0])), text)
