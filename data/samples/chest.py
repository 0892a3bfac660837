"""Simulated chest radiographs: 1200 frontal views with six findings, painted from a seed. No patient is behind them.

Each shows two lungs with ribs and vessels, collar bones, spine, windpipe, heart and diaphragm. The findings change what
a radiologist looks at: a wide heart (cardiomegaly), a filled costophrenic angle with its meniscus (effusion), a
butterfly-shaped haze around the hila (oedema), a patchy opacity (consolidation), a round spot (nodule), and a dark rim
without vessels outside a fine pleural line (pneumothorax). They come together as they do in patients: a failing heart
brings cardiomegaly, oedema and effusion, an infection consolidation and often effusion, a tumour a nodule and sometimes
effusion. Some are faint. Inspiration, exposure, rotation, grain and monitor leads mean nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.samples.image_table import image_table, stratified_split
from assay.data.samples.painting import (
    Field,
    Generator,
    Values,
    Whole,
    bell,
    between,
    bump,
    cloud,
    dab,
    each,
    in_blocks,
    levels,
    plane,
    ramp,
    stroke,
)

CLASSES = ("cardiomegaly", "effusion", "oedema", "consolidation", "nodule", "pneumothorax")
IMAGES, TEST, SIZE = 1200, 300, 64
_HALF = SIZE / 2

_CAUSES = (
    (0.38, (0.03, 0.02, 0.01, 0.03, 0.03, 0.02)),  # well
    (0.22, (0.85, 0.60, 0.65, 0.06, 0.03, 0.02)),  # heart failure
    (0.16, (0.06, 0.40, 0.05, 0.92, 0.04, 0.02)),  # infection
    (0.14, (0.05, 0.30, 0.02, 0.15, 0.90, 0.04)),  # tumour
    (0.10, (0.04, 0.22, 0.03, 0.08, 0.05, 0.92)),  # injury
)
"""What ails a patient: its share, and the probability of each finding under it."""


@dataclass(frozen=True)
class Chest:
    """The build of each chest, in half widths of the picture: where the lungs are, and how strong each finding is."""

    findings: npt.NDArray[np.float64]  # [n, 6], 0 where absent, else how marked it is
    side: Values  # −1: a one-sided finding is on the left of the picture, 1: on the right
    middle: Values
    wide: Values
    top: Values
    base: Values  # height of the diaphragm's domes

    def strength(self, finding: str) -> Values:
        """How marked one finding is in each image."""
        found: Values = self.findings[:, CLASSES.index(finding)]
        return found


def chest(seed: int = 0) -> pa.Table:
    """1200 simulated radiographs as grey images of 64 × 64, `labels` of six findings, a split of 900 to 300."""
    generator = np.random.default_rng([seed, IMAGES, SIZE, len(CLASSES)])
    labels = drawn_findings(generator)
    split = stratified_split(labels[:, 0] + 2 * labels[:, 1] + 4 * labels[:, 2], TEST, generator)
    return image_table("chest", in_blocks(_painted, labels, seed), split, CLASSES, labels=labels.astype(np.int8))


def drawn_findings(generator: Generator, n: int = IMAGES) -> npt.NDArray[np.int64]:
    """Which findings each patient has, [n, 6]: drawn together, by what ails them."""
    shares = np.cumsum([share for share, _ in _CAUSES])
    cause = np.searchsorted(shares, generator.random(n) * shares[-1])
    likely = np.array([findings for _, findings in _CAUSES])[cause]
    drawn: npt.NDArray[np.bool_] = generator.random(likely.shape) < likely
    return drawn.astype(np.int64)


def _build(generator: Generator, labels: npt.NDArray[np.int64]) -> Chest:
    n = len(labels)
    return Chest(
        findings=labels * between(generator, 0.4, 1.0, *labels.shape),
        side=np.where(generator.random(n) < 0.5, -1.0, 1.0),
        middle=0.03 * bell(generator, n),
        wide=between(generator, 0.74, 0.86, n),
        top=between(generator, -0.86, -0.72, n),
        base=between(generator, 0.46, 0.68, n),
    )


def _painted(generator: Generator, labels: Whole) -> npt.NDArray[np.uint8]:
    return levels([_exposed(generator, _shadows(generator, _build(generator, labels)))])


def _shadows(generator: Generator, build: Chest) -> Field:
    """How white each pixel is: soft tissue, lungs taken out of it, bones and heart put in, then the findings."""
    x, y = plane(SIZE)
    n = len(build.middle)
    across = x - each(build.middle)
    lungs = _lungs(build, across, y)
    body = _body(generator, build, across, y)
    air = each(between(generator, 0.34, 0.45, n))
    white = body * 0.56 - lungs * air
    white = white + lungs * 0.045 * cloud(generator, n, SIZE, 10, 2)  # vessels and bronchi as a texture
    # The hila, where the great vessels enter the lungs.
    white = white + 0.12 * bump(((np.abs(across) - 0.20) / 0.20) ** 2 + ((y + 0.05) / 0.30) ** 2) * (lungs + 0.3)
    opaque, bare = _lung_findings(generator, build, lungs, across, y)
    white = white + opaque - bare
    white = np.maximum(white, _heart(generator, build, across, y))
    white = white + _bones(generator, build, across, y)
    fluid, line = _effusion(build, across, y, lungs), _pleural_line(build, across, y)
    return np.maximum(white, 0.62 * fluid) + 0.22 * line * lungs


def _body(generator: Generator, build: Chest, across: Field, y: Field) -> Field:
    """Shoulders, flanks and belly on the black of air."""
    n = len(build.middle)
    shoulder = each(between(generator, 0.98, 1.15, n)) - 0.35 * ramp((-0.45 - y) / 0.6)
    neck = ramp((each(between(generator, 0.26, 0.34, n)) - np.abs(across)) / 0.06)
    trunk = ramp((shoulder - np.abs(across)) / 0.08) * ramp((y + 0.98) / 0.15)
    belly = 0.12 * ramp((y - each(build.base) + 0.1) / 0.25)
    return np.maximum(trunk, neck) * (1.0 + belly) + 0.10 * ramp((0.22 - np.abs(across)) / 0.12)


def _lungs(build: Chest, across: Field, y: Field) -> Field:
    """Both lungs: rounded at the apex, wide at the base, cut off by the domes of the diaphragm."""
    total = np.zeros_like(across)
    reach = each(build.wide)
    height = (y - each(build.top)) / (each(build.base) + 0.15 - each(build.top))  # 0 at the apex, 1 at the base
    outer = reach * (0.56 + 0.44 * ramp(height * 1.1 + 0.2))
    for side in (-1.0, 1.0):
        lateral = side * across
        inner = 0.13 + 0.05 * height
        along = ramp((lateral - inner) / 0.07) * ramp((outer - lateral) / 0.06)
        centre = 0.55 * reach
        apex = ramp((y - each(build.top) - 0.55 * ((lateral - 0.33) ** 2)) / 0.10)
        dome = each(build.base) - (0.05 if side < 0 else 0.0) + 0.9 * (lateral - centre) ** 2
        total = total + along * apex * ramp((dome - y) / 0.06)
    return np.clip(total, 0.0, 1.0)


def _heart(generator: Generator, build: Chest, across: Field, y: Field) -> Field:
    """Heart and great vessels: an oval that leans to the right of the picture, wide where it is enlarged."""
    n = len(build.middle)
    large = each(build.strength("cardiomegaly"))
    width = each(between(generator, 0.25, 0.31, n)) + 0.19 * large
    height = each(between(generator, 0.34, 0.40, n)) + 0.05 * large
    centre_x, centre_y = 0.10 + 0.06 * large, each(build.base) - 0.27
    dx, dy = across - centre_x, y - centre_y
    dx = dx - 0.35 * dy
    oval = ramp((1.0 - np.sqrt((dx / width) ** 2 + (dy / height) ** 2)) / 0.14)
    aorta = ramp((0.15 + 0.03 * (y + 0.4) - np.abs(across - 0.02)) / 0.06) * ramp((y + 0.62) / 0.2)
    knob = bump(((across - 0.15) ** 2 + (y + 0.30) ** 2) / 0.02)
    return np.maximum(0.64 * oval * ramp((1.15 - y) / 0.3), 0.55 * aorta) + 0.14 * knob * (1.0 - oval)


def _bones(generator: Generator, build: Chest, across: Field, y: Field) -> Field:
    """Ribs as arcs that fall outwards, collar bones, and the shadow of the spine with the windpipe's dark stripe."""
    n = len(build.middle)
    bones = np.zeros((n, SIZE, SIZE))
    image = np.arange(n)
    first, step = between(generator, -0.80, -0.70, n), between(generator, 0.165, 0.185, n)
    for side in (-1.0, 1.0):
        for rib in range(9):
            height = first + rib * step
            outer = build.wide * (0.62 + 0.42 * min(1.0, (rib + 1) / 5))
            path = np.stack([
                np.stack([build.middle + side * 0.08, height], 1),
                np.stack([build.middle + side * outer * 0.75, height - 0.06], 1),
                np.stack([build.middle + side * outer, height + 0.26], 1),
            ], axis=1)  # fmt: skip
            stroke(bones, image, (path + 1.0) * _HALF, np.full(n, 2.0), np.full(n, 0.55))
        collar = np.stack([
            np.stack([build.middle + side * 0.08, build.top + 0.22], 1),
            np.stack([build.middle + side * 0.40, build.top + 0.20], 1),
            np.stack([build.middle + side * 0.85, build.top + 0.02], 1),
        ], axis=1)  # fmt: skip
        stroke(bones, image, (collar + 1.0) * _HALF, np.full(n, 2.6), np.ones(n))
    shown = each(between(generator, 0.10, 0.17, n))
    windpipe = ramp((0.06 - np.abs(across)) / 0.05) * ramp((-0.15 - y) / 0.15)
    discs = ramp((0.09 - np.abs(across)) / 0.05)
    return shown * bones + 0.05 * discs - 0.16 * windpipe


def _lung_findings(generator: Generator, build: Chest, lungs: Field, across: Field, y: Field) -> tuple[Field, Field]:
    """What findings inside the lungs add to the white, and what a pneumothorax takes away."""
    n = len(build.middle)
    lateral = across * each(build.side)
    mottled = 0.6 + 0.5 * cloud(generator, n, SIZE, 12, 2)
    wings = bump(((np.abs(across) - 0.30) / 0.42) ** 2 + ((y - 0.02) / 0.55) ** 2)
    opaque = 0.48 * each(build.strength("oedema")) * wings * mottled
    at_x, at_y = between(generator, 0.28, 0.55, n), between(generator, -0.45, 0.40, n)
    uneven = 1.0 + 0.45 * cloud(generator, n, SIZE, 6, 2)
    patch = bump((((lateral - each(at_x)) / 0.36) ** 2 + ((y - each(at_y)) / 0.34) ** 2) * uneven)
    opaque = opaque + 0.70 * each(build.strength("consolidation")) * patch * mottled
    opaque = lungs * (opaque + 0.42 * _nodules(generator, build))
    gap = _pleural_gap(build, lateral, y)
    bare = lungs * gap * (0.17 + opaque)
    return opaque, bare


def _nodules(generator: Generator, build: Chest) -> Field:
    """One to three round spots in the lungs of those who have the finding."""
    strength = build.strength("nodule")
    n = len(strength)
    canvas = np.zeros((n, SIZE, SIZE))
    image = np.repeat(np.arange(n), np.where(strength > 0, generator.integers(1, 4, n), 0))
    m = len(image)
    side = np.where(generator.random(m) < 0.5, -1.0, 1.0)
    x, y = build.middle[image] + side * between(generator, 0.30, 0.60, m), between(generator, -0.5, 0.35, m)
    radius = between(generator, 1.3, 3.0, m)
    dab(canvas, image, (x + 1.0) * _HALF, (y + 1.0) * _HALF, radius, 0.35 + 0.65 * strength[image])
    return canvas


def _gap_line(build: Chest, y: Field) -> Field:
    """How far from the middle the collapsed lung still reaches."""
    collapsed = each(build.strength("pneumothorax"))
    return each(build.wide) * (0.93 - 0.36 * collapsed) - 0.22 * collapsed * ramp((0.1 - y) / 0.9)


def _pleural_gap(build: Chest, lateral: Field, y: Field) -> Field:
    """Where there is air between the collapsed lung and the chest wall."""
    there = each((build.strength("pneumothorax") > 0).astype(np.float64))
    return there * ramp((lateral - _gap_line(build, y)) / 0.04) * ramp((each(build.base) - 0.1 - y) / 0.3)


def _pleural_line(build: Chest, across: Field, y: Field) -> Field:
    """The fine white rim of the collapsed lung."""
    there = each((build.strength("pneumothorax") > 0).astype(np.float64))
    away = (across * each(build.side) - _gap_line(build, y)) / 0.035
    return there * bump(away * away) * ramp((each(build.base) - 0.1 - y) / 0.3)


def _effusion(build: Chest, across: Field, y: Field, lungs: Field) -> Field:
    """Fluid above the diaphragm, climbing along the chest wall: the meniscus."""
    amount = each(build.strength("effusion"))
    side = np.where(build.strength("pneumothorax") > 0, -build.side, build.side)
    lateral = np.clip(across * each(side), 0.0, 1.0)
    wall = lateral / each(build.wide)
    surface = each(build.base) + 0.10 - amount * (0.22 + 0.42 * wall * wall * wall)
    filled = ramp((y - surface) / 0.08) * ramp((wall - 0.15) / 0.1) * (amount > 0)
    return filled * ramp((1.06 - wall) / 0.1) * ramp((each(build.base) + 0.35 - y) / 0.1) * np.maximum(lungs, 0.85)


def _exposed(generator: Generator, white: Field) -> Field:
    """What the apparatus adds: exposure, contrast, a lead now and then, grain."""
    n = len(white)
    leads = np.zeros((n, SIZE, SIZE))
    image = np.repeat(np.arange(n), generator.integers(1, 3, n) * (generator.random(n) < 0.15))
    m = len(image)
    ends = between(generator, 4, SIZE - 4, m, 3, 2)
    stroke(leads, image, ends, np.full(m, 0.8), np.full(m, 0.5))
    contrast, bright = each(between(generator, 0.95, 1.2, n)), each(between(generator, 0.03, 0.12, n))
    return bright + contrast * white + 0.22 * leads + 0.014 * bell(generator, n, SIZE, SIZE)
