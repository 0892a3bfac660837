"""The samples that are hard by every measure, as what they are: pictures, texts, rows; each with why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from assay.tasks.hardness.measures import measure_named
from assay.tasks.reporting.numerals import percent
from assay.tasks.reporting.parts import (
    Block,
    Cell,
    Column,
    DataTable,
    Gallery,
    Mark,
    MarkedText,
    MarkedTexts,
    Picture,
    Stretch,
    Strip,
    Tone,
)
from assay.tasks.statistics.findings import distinct

MASK = "■■■■"
_LONGEST = 600  # of a text's characters
_COLUMNS = 8  # of a row's own


@dataclass(frozen=True)
class HardSample:
    """One sample: what the subject says of it, why it is hard, and what it is (of picture, text and row, one)."""

    subject: str
    place: int
    id: str
    truth: str | None
    predicted: str | None
    why: Mapping[str, tuple[float, float]]
    """By measure its value, and the share of samples that it is harder than."""
    png: bytes | None = None
    text: str | None = None
    row: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """How it is headed."""
        return f"{self.place} · {self.id}"

    @property
    def answer(self) -> Mark | None:
        """What the subject says, and whether that is right."""
        if self.predicted is None:
            return None
        tone: Tone = "neutral" if self.truth is None else "good" if self.truth == self.predicted else "bad"
        truth = "" if self.truth in (None, self.predicted) else f", in truth {self.truth}"
        return Mark(f"{self.predicted}{truth}", tone)

    @property
    def marks(self) -> list[Mark]:
        """What is said below it: the answer, and why it is here."""
        reasons = [Mark(reason(*one)) for one in self.why.items()]
        return [self.answer, *reasons] if self.answer is not None else reasons


def reason(measure: str, measured: tuple[float, float]) -> str:
    """One reason for being here.

    >>> reason("eps", (-0.1, 0.912)).replace(chr(0x202F), " ")
    'ε 0.1: harder than 91 %'
    """
    value, harder_than = measured
    return f"{measure_named(measure).number_text(value)}: harder than {percent(harder_than, 0)}"


def sample_blocks(samples: Sequence[HardSample], masked: bool) -> Iterator[Block]:
    """The samples of every subject."""
    for subject in distinct(one.subject for one in samples):
        mine = [one for one in samples if one.subject == subject]
        title = f"Hard by every measure, {subject}"
        if all(one.png is not None for one in mine):
            yield Gallery(title, [_strip(one) for one in mine], NOTE)
        elif any(one.text is not None for one in mine):
            hidden = " The texts of this audit are masked: of each only its place is shown." if masked else ""
            yield MarkedTexts(title, [_text(one, masked) for one in mine], {}, NOTE + hidden)
        else:
            yield _table(title, mine)


NOTE = (
    "Among the hardest by every measure that speaks of them, the hardest on average first: look whether label, sample "
    "or subject is at fault."
)


def _strip(sample: HardSample) -> Strip:
    called = "" if sample.predicted is None else f", which the subject calls {sample.predicted}"
    assert sample.png is not None, "asked for before"
    return Strip(
        sample.title, [Picture(sample.png, sample.truth or "", f"The sample {sample.id}{called}", sample.marks)]
    )


def _text(sample: HardSample, masked: bool) -> MarkedText:
    text = MASK if masked else shortened(sample.text or "")
    return MarkedText(sample.title, [Stretch(text)], sample.marks)


def shortened(text: str) -> str:
    """The text, cut where it is long.

    >>> len(shortened("x" * 1000)), shortened("short")
    (602, 'short')
    """
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def _table(title: str, samples: Sequence[HardSample]) -> DataTable:
    measures = distinct(name for one in samples for name in one.why)
    own = distinct(name for one in samples for name in one.row)[:_COLUMNS]
    columns = [Column("Sample"), Column("Answer"), *(Column(measure_named(name).short) for name in measures)]
    columns += [Column(name, "number" if _numeric(samples, name) else "text") for name in own]
    rows: list[list[Cell]] = [
        [
            one.title,
            one.answer,
            *(reason(name, one.why[name]) if name in one.why else None for name in measures),
            *(_cell(one.row.get(name)) for name in own),
        ]
        for one in samples
    ]
    return DataTable(title, columns, rows, NOTE)


def _numeric(samples: Sequence[HardSample], name: str) -> bool:
    return all(isinstance(one.row.get(name), int | float | None) for one in samples)


def _cell(value: str | int | float | bool | None) -> Cell:
    return shortened(value) if isinstance(value, str) else value
