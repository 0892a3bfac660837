"""Adversarial images for people to look at: the original, what was done to it, and what the subject answered to
both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.images import Pixels, pixels_of, png
from assay.tasks.attacks.settings import Norm, eps_name, norm_and_slice
from assay.tasks.reporting.numerals import plural
from assay.tasks.reporting.parts import Gallery, Mark, Picture, Strip
from assay.tasks.subjects.page import answer_marks
from assay.tasks.subjects.predictions import truth_in_words

MOST = 6
"""Strips per gallery: enough to see what the attack does, few enough to read on."""


@dataclass(frozen=True)
class AttackedImages:
    """The images that were kept of one attack on one subject, with their records."""

    subject: str
    attack: str
    records: pa.Table  # of Attacked, the samples of `images` only
    images: pa.Table  # of AdversarialImages
    classes: tuple[str, ...]
    norm: Norm = "linf"

    def group(self, eps: float) -> str:
        """How findings call an ε of the attack."""
        return eps_name(eps, self.norm)


def shown_of(attacked: pa.Table, images: pa.Table, classes: Sequence[str], norm: Norm = "linf") -> list[AttackedImages]:
    """What can be shown of a table of records and one of images, per subject and attack."""
    keys = images.select(["subject", "attack"]).group_by(["subject", "attack"], use_threads=False).aggregate([])
    of_each = []
    for key in keys.to_pylist():
        kept = _rows_of(images, **key)
        records = _rows_of(attacked, **key)
        records = records.filter(pc.is_in(records["id"], value_set=kept["id"].combine_chunks()))
        of_each.append(AttackedImages(key["subject"], key["attack"], records, kept, tuple(classes), norm))
    return of_each


CHOSEN_BY = ["id", "eps", "gold", "labels", "clean", "success"]
"""The columns of the records that it takes to choose what is shown."""


def to_be_shown(records: pa.Table, kept: pa.Table) -> frozenset[str]:
    """The ids of the samples that a gallery can come to need, out of records (`CHOSEN_BY`) and the `id` and `eps` of
    all images: those of its strips at every ε, and no others."""
    chosen: set[str] = set()
    for eps in pc.unique(kept["eps"]).to_pylist():
        if eps == 0:
            continue
        there = kept.filter(pc.equal(kept["eps"], eps))["id"].combine_chunks()
        at = records.filter(pc.and_(pc.equal(records["eps"], eps), pc.is_in(records["id"], value_set=there)))
        chosen.update(row["id"] for row in _ranked_rows(at.to_pylist(), MOST))
    return frozenset(chosen)


def gallery(shown: AttackedImages, group: str, most: int = MOST, *, collapsed: bool = False) -> Gallery | None:
    """The strips of one attack at the ε of `group`: what was right and then fell first, the classes in turn."""
    records = {row["id"]: row for row in shown.records.to_pylist() if shown.group(row["eps"]) == group}
    clean, moved = _pixels(shown, shown.group(0)), _pixels(shown, group)
    rows = [row for sample, row in records.items() if sample in clean and sample in moved]
    if not rows:
        return None
    strips = [_strip(row, clean[row["id"]], moved[row["id"]], shown) for row in _ranked_rows(rows, most)]
    title = f"{shown.subject}: {shown.attack} at ε = {norm_and_slice(group)[1].eps_text}"
    note = (
        "Left the original, right what the subject was shown instead, in the middle the difference between them: grey "
        "where nothing changed, and enlarged by the factor that is written below it. Percentages are the subject's "
        "probabilities."
    )
    return Gallery(title, strips, note, collapsed)


def enlarged_difference(clean: Pixels, moved: Pixels) -> tuple[Pixels, float]:
    """The difference as an image with grey for none, so enlarged that the largest fills the range; and the factor.

    >>> picture, factor = enlarged_difference(np.zeros((1, 1, 2), np.float32), np.array([[[0.0, 0.1]]], np.float32))
    >>> picture.tolist(), round(factor, 3)
    ([[[0.5, 1.0]]], 5.0)
    """
    difference = moved.astype(np.float64) - clean.astype(np.float64)
    largest = float(np.abs(difference).max())
    factor = 0.5 / largest if largest > 0 else 1.0
    return (0.5 + factor * difference).astype(np.float32), factor


def _strip(row: dict[str, Any], clean: Pixels, moved: Pixels, shown: AttackedImages) -> Strip:
    difference, factor = enlarged_difference(clean, moved)
    truth = truth_in_words(row, shown.classes)
    before, after = (
        answer_marks(row[side], row[f"{side}_probabilities"], row, shown.classes) for side in ("clean", "attacked")
    )
    size = f"at most {255 * float(row['distance']):.1f} of 255 levels"
    if shown.norm == "l2":
        size = f"L2 length {row['distance_l2']:.2f}"
    elif shown.norm != "linf":
        size = f"{plural(round(row['distance']), 'pixel')} changed"
    pictures = [
        Picture(png(clean), "original", f"The original image of {row['id']}, {truth}", before),
        Picture(
            png(difference),
            f"difference × {factor:.3g}",
            f"What the attack changed, enlarged {factor:.3g} times",
            [Mark(size)],
        ),
        Picture(png(moved), "adversarial", f"The attacked image of {row['id']}", after),
    ]
    return Strip(f"{row['id']} · {truth}", pictures, row["id"])


def _ranked_rows(rows: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """At most so many rows: of every class the first that was right and fell, then the second; then those that
    withstood, and at the end what was wrong already, which shows nothing of the attack."""
    seen: dict[tuple[int, Any], int] = {}
    ranked = []
    for row in sorted(rows, key=lambda row: str(row["id"])):
        kind = row["gold"] if row["labels"] is None else tuple(row["labels"])
        wrong_before = row["labels"] is None and row["gold"] is not None and row["clean"] != row["gold"]
        rank = 2 if wrong_before else int(not row["success"])
        place = seen[rank, kind] = seen.get((rank, kind), -1) + 1
        ranked.append((rank, place, str(kind), row["id"], row))
    return [row for *_, row in sorted(ranked, key=lambda ranking: ranking[:4])[:most]]


def _pixels(shown: AttackedImages, group: str) -> dict[str, Pixels]:
    at = [row for row, eps in enumerate(shown.images["eps"].to_pylist()) if shown.group(eps) == group]
    table = shown.images.take(pa.array(at, pa.int64()))
    return dict(zip(table["id"].to_pylist(), pixels_of(table), strict=True)) if at else {}


def _rows_of(table: pa.Table, subject: str, attack: str) -> pa.Table:
    return table.filter(pc.and_(pc.equal(table["subject"], subject), pc.equal(table["attack"], attack)))
