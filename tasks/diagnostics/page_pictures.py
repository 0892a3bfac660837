"""Maps as pictures: clean and attacked below each other, the same kind of map in the same column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.images import Pixels, png
from assay.tasks.diagnostics.attention import upsampled
from assay.tasks.diagnostics.looking import CLEAN
from assay.tasks.reporting.colours import Rgb, heat, signed
from assay.tasks.reporting.numerals import percent
from assay.tasks.reporting.parts import Gallery, Mark, Picture, Strip, Tone
from assay.tasks.subjects.eps import eps_name
from assay.tasks.subjects.images.model import THRESHOLD

_BRIGHTEST = 99.5  # per cent of a map's values: what lies above is drawn like it, lest one pixel leave the rest dark
_NAMED = 3  # labels under an image
_COMMON = ("feature map", "attention fine", "attention coarse")  # one scale for all circumstances of a sample

Row = dict[str, Any]

_NOTES = {
    "feature map": "Feature map: the mean of what is above zero in a layer's channels; its name is written below.",
    "saliency": "Saliency: how steeply the loss rises with each pixel, |∂loss/∂x|, the largest over the channels.",
    "integrated gradients": "Integrated gradients: what each pixel adds to the logit of the class that is said "
    "(orange) or takes from it (blue); together they are the change of that logit from the baseline to the image.",
    "attention": "Attention: how much of each place the gate lets through; coarser than the image, so it looks smooth.",
}


def gallery(pictures: pa.Table, subject: str, classes: Sequence[str], *, collapsed: bool = False) -> Gallery:
    """A strip per image and circumstance: the image, then its maps."""
    rows = pictures.to_pylist()
    strips = [_scales()]
    for sample in dict.fromkeys(row["id"] for row in rows):
        own = [row for row in rows if row["id"] == sample]
        shown = dict.fromkeys(row["shown"] for row in own)
        strips += [_strip([row for row in own if row["shown"] == one], own, classes) for one in shown]
    kinds = {row["picture"].split(" ")[0] if row["picture"].startswith("attention") else row["picture"] for row in rows}
    note = " ".join(text for kind, text in _NOTES.items() if kind in kinds)
    note += " Feature maps and attention share a scale between the rows of an image; the others fill their own."
    return Gallery(f"{subject}: where it looks", strips, note, collapsed, stacked=True)


def _scales() -> Strip:
    """The two colour scales, to be compared with."""
    ramp = np.tile(np.linspace(0, 1, 64), (12, 1))
    rising, both = "from dark blue for the least to light yellow for the most", "from blue over white to orange"
    return Strip(
        "How to read the colours",
        [
            Picture(png(heat(ramp, 0, 1)), "least to most", f"A colour scale {rising}"),
            Picture(png(signed(2 * ramp - 1, 1)), "takes away to adds", f"A colour scale {both}"),
        ],
    )


def _strip(rows: Sequence[Row], everything: Sequence[Row], classes: Sequence[str]) -> Strip:
    first = rows[0]
    image = next(row for row in rows if row["picture"] == "image")
    size = int(image["height"]), int(image["width"])
    truth = _truth(first, classes)
    how = (
        CLEAN
        if first["shown"] == CLEAN
        else f"under {first['shown']}, {eps_name(first['eps']).replace('eps=', 'ε = ')}"
    )
    return Strip(f"{first['id']} · {truth} · {how}", [_picture(row, everything, classes, size, how) for row in rows])


def _picture(row: Row, everything: Sequence[Row], classes: Sequence[str], size: tuple[int, int], how: str) -> Picture:
    values, kind = values_of(row), str(row["picture"])
    if kind == "image":
        return Picture(png(values), "image", f"The image {row['id']}, {how}", _answer_marks(row, classes))
    if kind == "integrated gradients":
        reach = float(np.percentile(np.abs(values), _BRIGHTEST)) or 1.0
        sums = f"adds up to {row['total']:+.4g} of {row['expected']:+.4g}"
        alt = f"What each pixel of {row['id']}, {how}, adds to {classes[row['said']]}; at most {reach:.2g}"
        return Picture(
            png(signed(values[0], reach)), f"integrated gradients, {classes[row['said']]}", alt, [Mark(sums)]
        )
    low, high = _range(row, everything)
    if kind.startswith("attention"):
        values = upsampled(values, *size)
    name = f"{kind}, {row['layer']}" if kind == "feature map" else kind
    alt = f"{kind.capitalize()} of {row['id']}, {how}: {_brightest(values[0])}"
    return Picture(png(_enlarged(heat(values[0], low, high), size)), name, alt, [Mark(f"{low:.2g} to {high:.2g}")])


def values_of(row: Row) -> Pixels:
    """The numbers of a picture [c, h, w]."""
    flat = np.frombuffer(row["values"], np.float32)
    return np.asarray(flat.reshape(row["channels"], row["height"], row["width"]))


def _range(row: Row, everything: Sequence[Row]) -> tuple[float, float]:
    """From what to what the colours of a map go: over all circumstances of the image where they can be compared."""
    if row["picture"] not in _COMMON:
        return 0.0, float(np.percentile(values_of(row), _BRIGHTEST))
    alike = np.concatenate([values_of(one).ravel() for one in everything if one["picture"] == row["picture"]])
    low = float(alike.min()) if row["picture"].startswith("attention") else 0.0
    return low, float(np.percentile(alike, _BRIGHTEST))


def _enlarged(colours: Rgb, size: tuple[int, int]) -> Rgb:
    """The picture at the size of the image, each place of a coarser map as a square."""
    down, across = (
        np.arange(wanted) * coarse // wanted for wanted, coarse in zip(size, colours.shape[1:], strict=True)
    )
    return np.asarray(colours[:, down][:, :, across])


def _brightest(values: npt.NDArray[np.float32]) -> str:
    """In words, where a map is highest."""
    row, column = np.unravel_index(int(values.argmax()), values.shape)
    down = ("top", "middle", "bottom")[min(2, 3 * int(row) // values.shape[0])]
    across = ("left", "centre", "right")[min(2, 3 * int(column) // values.shape[1])]
    return f"highest at the {down} {across}"


def _truth(row: Row, classes: Sequence[str]) -> str:
    if row["labels"] is not None:
        there = [name for name, label in zip(classes, row["labels"], strict=True) if label == 1]
        return f"is {', '.join(there)}" if there else "is none of them"
    return "class unknown" if row["gold"] is None else f"is {classes[row['gold']]}"


def _answer_marks(row: Row, classes: Sequence[str]) -> list[Mark]:
    probabilities = row["probabilities"]
    if row["labels"] is None:
        code = row["said"]
        tone: Tone = "neutral" if row["gold"] is None else "good" if code == row["gold"] else "bad"
        return [Mark(f"{classes[code]} · {percent(probabilities[code], 0)}", tone)]
    named = [at for at, p in enumerate(probabilities) if p >= THRESHOLD]
    named.sort(key=lambda at: -probabilities[at])
    tones: dict[int, Tone] = {1: "good", 0: "bad", -1: "neutral"}
    marks = [Mark(f"{classes[at]} · {percent(probabilities[at], 0)}", tones[row["labels"][at]]) for at in named]
    more = [Mark(f"and {len(marks) - _NAMED} more")] if len(marks) > _NAMED else []
    return [*marks[:_NAMED], *more] or [Mark("none of the labels")]
