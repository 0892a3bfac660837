"""Trying rules on data: the samples are read once, the rules as often as they are saved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay.flows.configuration.loading import load_project
from assay.flows.starting.addresses import address_of
from assay.flows.starting.looking import Look, look
from assay.flows.starting.roles import NONE, Answers, Question, settle
from assay.flows.starting.samples import Seen, samples_of
from assay.flows.trying.rulebooks import rulebook_in
from assay.flows.trying.showing import samples_of_rules, table_of_rules
from assay.flows.trying.trial import try_rules
from assay.infra.errors import InputError
from assay.tasks.ingest.settings import Source
from assay.tasks.labeling.written_rulebook import WrittenRulebook


@dataclass(frozen=True)
class Samples:
    """The source that rules are tried on, from which folder its paths count, and whether its texts are to be hidden."""

    source: Source
    base: Path
    masked: bool = False


def samples_from_data(data: str, label: str | None, identity: str | None) -> Samples:
    """The source behind a path; the label is the column named, or the one that is called like one."""
    address = address_of(data, Path.cwd())
    if address.origin == "images":
        return Samples(Source.model_validate(address.settings), Path.cwd())
    seen = look(address, Path.cwd())
    settled = settle(seen, Answers("table", label or _label(seen), ("0", "1"), identity))
    roles = {} if isinstance(settled, Question) else {"id": settled.id, "label": settled.label}
    return Samples(Source.model_validate({**address.settings, **roles}), Path.cwd())


def _label(seen: Look) -> str | None:
    """The label that the columns' names leave no doubt about; none, and no question, where they leave one."""
    settled = settle(seen, Answers("table"))
    return NONE if isinstance(settled, Question) else settled.label


def samples_of_pipeline(config: str, name: str) -> Samples:
    """The source of a pipeline."""
    project = load_project(config, pipeline=name)
    pipeline = project.pipeline(name)
    return Samples(pipeline.source, project.folder, pipeline.masked)


class Session:
    """Rules in a file, and samples, which are read when they are first needed."""

    def __init__(self, rules: str, samples: Samples, show: int) -> None:
        self._rules, self._samples, self._show = rules, samples, show
        self._seen: Seen | None = None

    def say(self) -> str:
        """What the rules, as they are now, do on the samples."""
        rulebook = rulebook_in(self._rules)
        seen = self._read(rulebook.load().classes)
        trial = try_rules(rulebook, seen.samples, seen.classes)
        written = rulebook.written if isinstance(rulebook, WrittenRulebook) else None
        head = f"{self._rules} on {seen.in_words}" + (
            "" if trial.has_gold else " · no gold: name its column with --label"
        )
        parts = [head, table_of_rules(trial)]
        if self._show:
            parts.append(samples_of_rules(trial, seen.samples, written, self._show, self._samples.masked))
        return "\n".join(parts)

    def _read(self, classes: tuple[str, ...]) -> Seen:
        """The samples; where nothing says which classes there are, those are the rules'."""
        unlabelled = self._samples.source.label is None and self._samples.source.classes is None
        known = self._samples.source.images or self._samples.source.dataset or self._samples.source.labels
        if unlabelled and not known:
            source = self._samples.source.model_copy(update={"classes": classes})
            kept = self._seen
            if kept is None or kept.classes != classes:
                self._seen = samples_of(source, self._samples.base)
        elif self._seen is None:
            self._seen = samples_of(self._samples.source, self._samples.base)
        assert self._seen is not None
        return self._seen


def require_file(rules: str) -> Path | None:
    """The file that is watched; None where the rulebook is one by name."""
    place = rules.partition(":")[0]
    if not place.endswith((".py", ".yaml", ".yml")):
        return None
    path = Path(place).absolute()
    if not path.is_file():
        raise InputError(f"There is no file {place} with rules: name a rules.yaml or a rules.py.")
    return path
