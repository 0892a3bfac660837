"""What a report is made of: parts, and in them plots, tables, figures. Pure values; `layout` makes a page of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

Tone = Literal["good", "bad", "neutral"]
Scale = Literal["number", "percent"]
SeriesStyle = Literal["line", "dashed", "points", "steps", "interval"]


@dataclass(frozen=True)
class Estimate:
    """A measured value with its interval and the number of samples behind it, as one cell of a table."""

    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None


@dataclass(frozen=True)
class Mark:
    """A cell with a judgement: bold where good, underlined where bad; `below` is a second, smaller line."""

    text: str
    tone: Tone = "neutral"
    below: str = ""
    order: float | None = None


Cell = str | int | float | bool | Estimate | Mark | None


@dataclass(frozen=True)
class Series:
    """One line of a plot; `low` and `high`, where given, are drawn as a band of the same colour, or as whiskers.

    `points` are marks with whiskers, `interval` is whiskers alone, `steps` hold their value until the next place.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    low: Sequence[float | None] | None = None
    high: Sequence[float | None] | None = None
    style: SeriesStyle = "line"
    names: Sequence[str] | None = None
    """What each of the points is called, written beside it; empty for one that the line's name is enough for."""


@dataclass(frozen=True)
class LinePlot:
    """Lines over a common axis; `alt` says in words what a person sees in it.

    `x_ticks` are drawn on the axis; `x_names` name places in the numbers below, also those that no tick has room for.
    """

    title: str
    series: Sequence[Series]
    x_label: str
    y_label: str
    alt: str
    y_range: tuple[float, float] | None = None
    x_ticks: Mapping[float, str] | None = None
    note: str = ""
    scale: Scale = "number"
    x_names: Mapping[float, str] | None = None


@dataclass(frozen=True)
class Panels:
    """Small multiples: the same plot several times on the same axes, so that eyes can compare."""

    title: str
    plots: Sequence[LinePlot]
    note: str = ""


@dataclass(frozen=True)
class BarPlot:
    """One bar per name, with whiskers where `low` and `high` are given."""

    title: str
    names: Sequence[str]
    values: Sequence[float | None]
    x_label: str
    alt: str
    low: Sequence[float | None] | None = None
    high: Sequence[float | None] | None = None
    note: str = ""
    scale: Scale = "number"


ColumnKind = Literal["text", "integer", "number", "percent", "p", "flag", "bar"]


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, how its cells are written, and a sentence for who hovers over it."""

    name: str
    kind: ColumnKind = "text"
    help: str = ""


@dataclass(frozen=True)
class DataTable:
    """Rows of cells under typed columns; sortable where JavaScript runs, complete where it does not."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    collapsed: bool = False


@dataclass(frozen=True)
class Paragraph:
    """A few sentences of prose."""

    text: str


@dataclass(frozen=True)
class Picture:
    """One picture of a strip: what it is, what is said of it (right where the tone is good), what it shows in words."""

    png: bytes
    name: str
    alt: str
    said: Sequence[Mark] = ()
    sample: str = ""
    """The id of the sample that it is, where a strip shows several; what the rules say of that stands below it."""


@dataclass(frozen=True)
class Strip:
    """A few pictures side by side that belong together, such as an original, a perturbation and an adversarial."""

    title: str
    pictures: Sequence[Picture]
    sample: str = ""
    """The id of the sample that it shows; what the rules say of that stands below its first picture."""


@dataclass(frozen=True)
class Gallery:
    """Strips of pictures for people to compare; small images are drawn larger, pixel by pixel.

    `stacked` puts every strip on a line of its own, so that pictures of the same kind stand below each other.
    """

    title: str
    strips: Sequence[Strip]
    note: str = ""
    collapsed: bool = False
    stacked: bool = False


@dataclass(frozen=True)
class Stretch:
    """A piece of a text; where a `tone` marks it, `weight` from 0 to 1 says how strongly."""

    text: str
    tone: Tone | None = None
    weight: float = 0.0


@dataclass(frozen=True)
class MarkedText:
    """A text whose words are marked, and what is said of it; `below` is another wording of it, on a line of its own."""

    title: str
    stretches: Sequence[Stretch]
    said: Sequence[Mark] = ()
    below: Sequence[Stretch] = ()
    sample: str = ""
    """The id of the sample whose text it is; what the rules say of that stands below it."""


@dataclass(frozen=True)
class MarkedTexts:
    """Texts for people to read, with their words marked; `legend` says in words what each tone means."""

    title: str
    texts: Sequence[MarkedText]
    legend: Mapping[Tone, str]
    note: str = ""


@dataclass(frozen=True)
class Cloud:
    """Points of one kind; `kind` is its place in the legend, which gives colour and shape. `faint` ones are what the
    others are compared with."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    kind: int
    faint: bool = False


@dataclass(frozen=True)
class Scatter:
    """Points in a plane whose axes have no unit; `alt` says in words what a person sees in it."""

    title: str
    clouds: Sequence[Cloud]
    alt: str


@dataclass(frozen=True)
class Scatters:
    """Scatters side by side on the same axes, with one legend."""

    title: str
    plots: Sequence[Scatter]
    x_label: str
    y_label: str
    note: str = ""


@dataclass(frozen=True)
class Chord:
    """How often things go together: `counts` is symmetric [k, k], `alone` how often each stands by itself."""

    title: str
    counts: Sequence[Sequence[int]]
    alone: Sequence[int]
    alt: str


@dataclass(frozen=True)
class Chords:
    """Chord diagrams side by side, drawn to the same scale: an arc of the same length is the same count in each."""

    title: str
    names: Sequence[str]
    diagrams: Sequence[Chord]
    unit: str
    note: str = ""


Shown = LinePlot | Panels | BarPlot | DataTable | Paragraph | Gallery | MarkedTexts | Scatters | Chords


@dataclass(frozen=True)
class NamedSample:
    """A sample that a person should look at: why in a few words, and its picture or its text."""

    id: str
    note: str = ""
    png: bytes | None = None
    text: str = ""
    marks: Sequence[Mark] = ()
    """The answers to it and why it is here, at length."""
    votes: str = ""
    """What the rules say of it."""
    pair: Sequence[str] = ()
    """The ids of the samples that stand here side by side, if it is not one; what the rules say of each is said."""


@dataclass(frozen=True)
class SampleList:
    """Samples to look at. The pages of audits name them; the report fills in their pictures or texts and the votes."""

    title: str
    samples: Sequence[NamedSample]
    note: str = ""

    @property
    def shown(self) -> Shown:
        """Pictures or texts with the marks and the votes, or a row each where there is nothing to see.

        >>> SampleList("Hard", [NamedSample("s1", votes="border says benign")]).shown.rows
        [['s1', '', 'border says benign']]
        """
        said = [(each, [*each.marks, *([Mark(each.votes)] if each.votes else [])]) for each in self.samples]
        if said and all(sample.png is not None for sample, _ in said):
            strips = [Strip(s.id, [Picture(s.png or b"", "", f"The sample {s.id}", marks)]) for s, marks in said]
            return Gallery(self.title, strips, self.note)
        if any(sample.text for sample, _ in said):
            texts = [MarkedText(sample.id, [Stretch(sample.text)], marks) for sample, marks in said]
            return MarkedTexts(self.title, texts, {}, self.note)
        rows = [[each.id, "; ".join(mark.text for mark in each.marks), each.votes] for each in self.samples]
        return DataTable(self.title, [*map(Column, ("Sample", "Why", "What the rules say"))], rows, self.note)


Block = Shown | SampleList


def in_panels(title: str, plots: Sequence[LinePlot], note: str) -> list[Block]:
    """Plots on the same axes as panels, or one by itself, large, under that title."""
    if len(plots) > 1:
        return [Panels(title, plots, note)]
    return [replace(plot, title=title, note=note) for plot in plots]


@dataclass(frozen=True)
class Part:
    """One audit's contribution to the report: a title, one sentence with the number in it, and what backs it up.

    `judged` is the verdict in a word or two ("adverse", "contract held"); left out, the page says good or bad. It opens
    to its sentence and first plot, `background` to its sentence alone. `samples` are those to look at next, hardest
    first; `findings` is how the metrics begin that it rests on, to which it leads.
    """

    title: str
    sentence: str
    blocks: Sequence[Block] = field(default_factory=tuple)
    anchor: str = ""
    verdict: Literal["good", "bad", "neutral", "not measured"] = "neutral"
    judged: str = ""
    samples: Sequence[NamedSample] = ()
    background: bool = False
    findings: str = ""


Looks = Mapping[str, NamedSample]
"""By id, samples as a person sees them: with picture or text, and with the votes."""


def samples_named(part: Part) -> Iterator[str]:
    """The ids of the samples that a part shows or names."""
    for block in (SampleList("", part.samples), *part.blocks):
        if isinstance(block, SampleList):
            yield from (name for sample in block.samples for name in (sample.pair or [sample.id]))
        elif isinstance(block, MarkedTexts):
            yield from (text.sample for text in block.texts)
        elif isinstance(block, Gallery):
            for strip in block.strips:
                yield from (strip.sample, *(picture.sample for picture in strip.pictures))


def with_looks(part: Part, looks: Looks) -> Part:
    """The part with the picture or text of every sample that it names, and what the rules say of it.

    >>> part = Part("Order", "", samples=[NamedSample("s1", "hard")])
    >>> with_looks(part, {"s1": NamedSample("s1", votes="border says benign")}).samples[0].votes
    'border says benign'
    """

    def seen(sample: NamedSample) -> NamedSample:
        look = looks.get(sample.id, sample)
        each = [f"{name}: {looks[name].votes}" for name in sample.pair if name in looks and looks[name].votes]
        votes = "\n".join(each) or look.votes
        return replace(sample, png=sample.png or look.png, text=sample.text or look.text, votes=votes)

    def said(name: str, marks: Sequence[Mark]) -> Sequence[Mark]:
        return [*marks, Mark(looks[name].votes)] if name in looks and looks[name].votes else marks

    def strip(one: Strip) -> Strip:
        named = [picture.sample or (one.sample if at == 0 else "") for at, picture in enumerate(one.pictures)]
        pairs = zip(one.pictures, named, strict=True)
        return replace(one, pictures=[replace(picture, said=said(name, picture.said)) for picture, name in pairs])

    def block(one: Block) -> Block:
        match one:
            case SampleList():
                return replace(one, samples=[seen(sample) for sample in one.samples])
            case Gallery():
                return replace(one, strips=[strip(each) for each in one.strips])
            case MarkedTexts():
                return replace(one, texts=[replace(text, said=said(text.sample, text.said)) for text in one.texts])
        return one

    return replace(part, samples=[seen(sample) for sample in part.samples], blocks=[block(one) for one in part.blocks])


@dataclass(frozen=True)
class Verdict:
    """One line at the head of the report (and the end of the run's output in the terminal)."""

    text: str
    tone: Tone = "neutral"
    gain: float = 0.0
    """Of a change, by how much the number got better; negative where it got worse."""
