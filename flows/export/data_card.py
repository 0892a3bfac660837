"""The data card of an exported folder: what it is, how it was made, whether its order is valid, and how to load it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.flows.configuration.mistakes import dotted
from assay.tasks.statistics.findings import Finding, FindingIndex

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")


@dataclass(frozen=True)
class Lineage:
    """Where an export comes from: its run, the settings of that run, and its stages with their digests."""

    run: str
    pipeline: str
    started: str
    seed: int
    labeler: str
    assay: str
    settings: Mapping[str, object]
    stages: Sequence[tuple[str, str, str]]
    """Per artifact: the stage's title, the kind of artifact, its digest."""


@dataclass(frozen=True)
class CardFacts:
    """What a data card says besides the lineage."""

    title: str
    description: str
    licence: str
    sizes: Sequence[int]
    accuracy: Sequence[tuple[float | None, int]]
    """Per data set: the share of weak labels that are right where gold is known, and over how many samples."""
    columns: Sequence[tuple[str, str, str]]
    """Per column: its name, its type, what it is."""
    validity: Sequence[Finding]


def data_card(facts: CardFacts, lineage: Lineage) -> str:
    """The card as Markdown, with the front matter that Hugging Face reads."""
    return "\n".join([_front_matter(facts), _what(facts, lineage), _validity(facts), _contents(facts), _made(lineage)])


def verdict_in_words(validity: Sequence[Finding]) -> str:
    """Whether the labels get worse along the order, as one sentence: as the page of the run concludes."""
    from assay.tasks.ordering.page import verdict

    lines = verdict(FindingIndex(validity))
    return f"**{lines[0].text}.**" if lines else "**Not measured**: no order was tested."


def _front_matter(facts: CardFacts) -> str:
    # JSON is YAML: strings that come from a configuration are written as JSON, so that none can break out.
    lines = ["---", f"pretty_name: {json.dumps(facts.title)}"]
    if _IDENTIFIER.fullmatch(facts.licence):
        lines.append(f"license: {json.dumps(facts.licence.lower())}")
    else:  # Hugging Face takes an identifier, or `other` with a name
        lines += ["license: other", f"license_name: {json.dumps(facts.licence)}"]
    lines += ["annotations_creators:", "- machine-generated", "tags:", "- robustness", "- weak-supervision", "- assay"]
    lines += ["configs:", "- config_name: curated", "  default: true", "  data_files:"]
    lines += ["  - split: test", "    path: curated.parquet"]
    for number in range(1, len(facts.sizes) + 1):
        lines += [f"- config_name: D{number}", "  data_files:", "  - split: test", f"    path: D{number}.parquet"]
    return "\n".join([*lines, "---", ""])


def _what(facts: CardFacts, lineage: Lineage) -> str:
    last = len(facts.sizes)
    return f"""# {plain(facts.title)}

{plain(facts.description) or "A data set that is hard on purpose."}

{facts.sizes[-1] if facts.sizes else 0} samples in an order from easy to hard, cut into {last} nested data sets
D1 … D{last}: D1 holds the samples whose label is most certain, D{last} all of them. A robust model's agreement with
the weak labels falls along the order; the report of the run shows how.

```python
import pandas; pandas.read_parquet("D{last}.parquet")
import datasets; datasets.load_dataset("path/of/this/folder", "D{last}", split="test")
```

**Licence:** {plain(facts.licence)} (the licence of the source data; the curation adds no conditions).

## How it was made

Labelling functions voted on every sample; those that depend on each other were pruned; the labeler
*{plain(lineage.labeler)}* turned the votes of the rest into a label and a confidence; a Clopper-Pearson interval says
how sure that confidence is given the number of votes; samples are ordered by its lower end (Pugh et al.,
*Curating Naturally Adversarial Datasets*).
Labels are weak: they are estimates, not truths. `gold` holds the true class where it is known.
"""


def _validity(facts: CardFacts) -> str:
    lines = ["## Is the order adverse?", "", verdict_in_words(facts.validity), ""]
    lines += ["| data set | samples | weak labels that are right | of n with known class |", "|---|---:|---:|---:|"]
    for number, (size, (share, n)) in enumerate(zip(facts.sizes, facts.accuracy, strict=True), start=1):
        lines.append(f"| D{number} | {size} | {'not measured' if share is None else f'{share:.1%}'} | {n} |")
    return "\n".join([*lines, ""])


def _contents(facts: CardFacts) -> str:
    lines = ["## Columns", "", "`curated.parquet` holds the whole order once; `D1.parquet` … its beginnings.", ""]
    lines += ["| column | type | what it is |", "|---|---|---|"]
    lines += [f"| {plain(name)} | {plain(kind)} | {plain(about)} |" for name, kind, about in facts.columns]
    return "\n".join([*lines, ""])


def _made(lineage: Lineage) -> str:
    lines = ["## Lineage", "", f"Run `{lineage.run}` of the pipeline `{plain(lineage.pipeline)}`, started"]
    lines += [f"{lineage.started}, seed {lineage.seed}, Assay {lineage.assay}.", ""]
    lines += ["| stage | artifact | digest |", "|---|---|---|"]
    lines += [f"| {plain(title)} | {kind} | `{digest}` |" for title, kind, digest in lineage.stages]
    lines += ["", "Settings:", "", "| setting | value |", "|---|---|"]
    lines += [
        f"| {plain(name)} | {plain(json.dumps(value, ensure_ascii=False))} |" for name, value in _flat(lineage.settings)
    ]
    return "\n".join([*lines, ""])


def _flat(settings: object, where: tuple[str | int, ...] = ()) -> list[tuple[str, object]]:
    if isinstance(settings, Mapping) and settings:
        return [row for name, inner in settings.items() for row in _flat(inner, (*where, str(name)))]
    return [] if settings is None else [(dotted(where), settings)]


def plain(text: str) -> str:
    """Text from outside as Markdown that shows it and does nothing else.

    >>> plain("a|b\\n<script>")
    'a\\\\|b &lt;script&gt;'
    """
    one_line = " ".join(text.split())
    for sign, written in (("\\", "\\\\"), ("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        one_line = one_line.replace(sign, written)
    for sign in "|`*_[]#":
        one_line = one_line.replace(sign, f"\\{sign}")
    return one_line
