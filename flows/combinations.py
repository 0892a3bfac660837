"""Settings that are right one by one and impossible together. Read from the raw mapping, so that they are reported
in the same breath as wrong types and unknown keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from assay.flows.mistakes import Where, suggestion
from assay.flows.yaml_source import Value
from assay.tasks.attacks.noise.settings import NOISE_KINDS
from assay.tasks.attacks.terms.settings import TERM_KINDS
from assay.tasks.attacks.words.settings import WORD_KINDS
from assay.tasks.subjects.eps import as_number

APPROACHES = ("pl_all", "pl_indep", "ci_all", "ours")
PRUNED = ("pl_indep", "ours")
LABELERS = ("majority", "snorkel")
WORST_CASE = "worst-case"
STAGES = {
    "ingest": (),
    "labeling": ("labeling",),
    "pruning": ("pruning",),
    "weak_labels": ("weak_labels",),
    "ordering": ("ordering",),
    "subject": ("subject", "subjects"),
    "attack": ("attacks",),
    "corruption": ("corruptions",),
    "defense": ("defenses", "smoothing"),
    "diagnostics": ("diagnostics",),
    "trust": ("trust",),
    "overfitting": ("overfitting",),
    "ner": ("attacks", "subject", "subjects"),
    "sts": ("attacks", "subject", "subjects"),
}
"""What must be configured for a stage's findings to exist: any one of these."""
READERS = {
    "images": (("network",), "images"),
    "texts": (("classifier",), "texts"),
    "terms": (("tagger", "scorer"), "tagged sentences or pairs of sentences"),
    "copies": (("classifier", "tagger", "scorer"), "texts, tagged sentences or pairs"),
}
"""Which subjects, and how they are called, an attack or a defence of each kind can be on."""
LABELLED = ("dataset", "images", "label", "labels")
"""What gives a source gold labels: any one of these."""


@dataclass(frozen=True)
class Clash:
    """Two settings that cannot both stand: where to change one, and why."""

    where: Where
    why: str


def clashes(pipeline: dict[str, Value]) -> Iterator[Clash]:
    """Everything in a pipeline that cannot be together."""
    yield from _chain(pipeline)
    yield from _subjects(pipeline)
    yield from _challenges(pipeline)
    for position, gate in enumerate(_list(pipeline.get("gates"))):
        if isinstance(gate, dict):
            yield from _gate(pipeline, gate, ("gates", position))


def _chain(pipeline: dict[str, Value]) -> Iterator[Clash]:
    votes = _dict(pipeline.get("source")).get("votes") is not None
    has = {name for name, value in pipeline.items() if value is not None}
    if votes and "labeling" in has:
        yield Clash(
            ("labeling",), "source.votes already holds the votes; remove labeling or give the source as samples"
        )
    voted = votes or "labeling" in has or _carries_votes(pipeline)
    for stage in ("pruning", "weak_labels"):
        if stage in has and not voted:
            yield Clash((stage,), "needs votes: add labeling (rules that vote) or source.votes (votes as a table)")
    if "ordering" in has and "weak_labels" not in has:
        yield Clash(("ordering",), "needs confidences: add weak_labels, as in weak_labels: {labelers: [majority]}")
    if _dict(pipeline.get("ordering")).get("compare") is True and "pruning" not in has:
        yield Clash(("ordering", "compare"), "compares with and without pruning: add pruning, or leave compare out")


def _carries_votes(pipeline: dict[str, Value]) -> bool:
    """Whether the data set is itself a table of votes, such as crowd workers' answers."""
    dataset = _dict(pipeline.get("source")).get("dataset")
    if not isinstance(dataset, str) or dataset.startswith("sample/"):
        return False
    from assay.data.catalog import catalog, is_votes

    return dataset in catalog() and is_votes(dataset)


def _subjects(pipeline: dict[str, Value]) -> Iterator[Clash]:
    if pipeline.get("subject") is not None and pipeline.get("subjects") is not None:
        yield Clash(("subjects",), "stands beside subject; put them all into subjects")
    names = Counter(name for _, subject in _each_subject(pipeline) for name in [_name_of(subject)])
    source = _dict(pipeline.get("source"))
    dataset = source.get("dataset")
    for where, subject in _each_subject(pipeline):
        if names[_name_of(subject)] > 1:
            yield Clash(
                (*where, "name"), f"{names[_name_of(subject)]} subjects are called {_name_of(subject)}; name each"
            )
        if subject.get("predictions") is not None:
            if isinstance(dataset, str) and dataset.startswith("sample/"):
                yield Clash(
                    (*where, "predictions"), f"{dataset} has no column of predictions; give parquet, csv or jsonl"
                )
            if subject.get("train_on") is not None:
                yield Clash((*where, "train_on"), "predictions are already made; nothing is trained")
        if subject.get("train_on") == "weak" and pipeline.get("weak_labels") is None:
            yield Clash((*where, "train_on"), "needs weak labels: add weak_labels, or train on gold")
        yield from _unlabelled(subject, source, where)


def _unlabelled(subject: dict[str, Value], source: dict[str, Value], where: Where) -> Iterator[Clash]:
    """What learns from gold labels has none to learn from."""
    if not source or any(source.get(name) is not None for name in LABELLED):
        return
    if subject.get("model") == "logistic" and subject.get("train_on") in (None, "gold"):
        yield Clash((*where, "model"), "learns from gold labels: give source.label, or train_on: weak")
    if subject.get("network") is None:
        return
    if subject.get("train") is not None:
        yield Clash((*where, "train"), "learns from gold labels: give source.label, or source.labels for several")
    elif source.get("classes") is None:
        yield Clash((*where, "network"), "answers with classes, and none is known: give source.label or source.classes")


def _challenges(pipeline: dict[str, Value]) -> Iterator[Clash]:
    """Audits of images need a subject that looks at images, those of texts one that reads."""
    kinds = {way for _, subject in _each_subject(pipeline) for way in subject}
    for stage, way, kind in (
        ("corruptions", "network", "images"), ("diagnostics", "network", "images"), ("smoothing", "network", "images"),
        ("trust", "classifier", "texts"),
    ):  # fmt: skip
        if pipeline.get(stage) not in (None, [], ()) and way not in kinds:
            yield Clash((stage,), f"needs a subject for {kind}: add one with {way}, as in subject: {{{way}: …}}")
    for stage, key, told in (("attacks", "attack", _attack_kind), ("defenses", "defense", _defense_kind)):
        for position, item in enumerate(_list(pipeline.get(stage))):
            ways, kind = READERS[told(item)]
            if not kinds.intersection(ways):
                named = _dict(item).get(key) or "it"
                yield Clash(
                    (stage, position), f"{named} needs a subject for {kind}: add one with {ways[0]}, "
                    f"as in subject: {{{ways[0]}: …}}",
                )  # fmt: skip
    yield from _attacks(pipeline)
    yield from _defenses(pipeline)
    yield from _diagnostics(pipeline)
    reference = _dict(pipeline.get("corruptions")).get("reference")
    subjects = [_name_of(subject) for _, subject in _each_subject(pipeline)]
    if isinstance(reference, str) and reference not in subjects:
        yield Clash(("corruptions", "reference"), f"there is no such subject; {suggestion(reference, subjects)}")
    evaluation = _dict(pipeline.get("evaluation"))
    audited, learned = evaluation.get("split", "test"), evaluation.get("train", "train")
    if audited == learned:
        where = ("evaluation", "split" if "split" in evaluation else "train")
        yield Clash(where, "is audited and may train; what is audited must not train: choose another split")


def _attacks(pipeline: dict[str, Value]) -> Iterator[Clash]:
    """Attacks are told apart by their names, and those that aim at a class say at which."""
    called = [_attack_name(attack) for attack in _list(pipeline.get("attacks"))]
    for position, attack in enumerate(_list(pipeline.get("attacks"))):
        settings, name = _dict(attack), called[position]
        if name and called.index(name) < position:
            yield Clash(("attacks", position), f"another attack is called {name} as well; give this one a name")
        if settings.get("goal") != "targeted":
            continue
        if settings.get("attack") == "gap":
            yield Clash(
                ("attacks", position, "goal"), "a generator aims at no class: leave goal out, or use another attack"
            )
        elif settings.get("target") is None:
            yield Clash(("attacks", position, "goal"), "names no class to aim at: add target, as in target: 0")


def _diagnostics(pipeline: dict[str, Value]) -> Iterator[Clash]:
    """What is looked into exists: attacks and subjects of those names, and an ε that each of the attacks tries."""
    settings = _dict(pipeline.get("diagnostics"))
    attacks = {_attack_name(attack): _dict(attack) for attack in _list(pipeline.get("attacks"))}
    subjects = [_name_of(subject) for _, subject in _each_subject(pipeline)]
    for position, name in enumerate(_list(settings.get("attacks"))):
        if isinstance(name, str) and name not in attacks:
            yield Clash(("diagnostics", "attacks", position), f"there is no such attack; {suggestion(name, attacks)}")
    yield from _eps_looked_at(settings, attacks)
    for position, name in enumerate(_list(settings.get("subjects"))):
        if isinstance(name, str) and name.partition("+")[0] not in subjects:
            yield Clash(
                ("diagnostics", "subjects", position), f"there is no such subject; {suggestion(name, subjects)}"
            )
    if _dict(pipeline.get("source")).get("labels") is not None and pipeline.get("smoothing") is not None:
        yield Clash(("smoothing",), "certifies one class per image, and these bear several labels: leave it out")


def _eps_looked_at(settings: dict[str, Value], attacks: dict[str, dict[str, Value]]) -> Iterator[Clash]:
    """The ε is one that every attack which is looked at tries."""
    generators = [name for name, attack in attacks.items() if attack.get("attack") == "gap"]
    usual = dict.fromkeys([*list(attacks)[:1], *generators[:1]])
    for name in _list(settings["attacks"]) if settings.get("attacks") is not None else usual:
        if settings.get("eps") is None or not isinstance(name, str) or "attack" not in attacks.get(name, {}):
            continue
        written = attacks[name].get("eps", 4 / 255)
        grid = _list(written) or [written]
        if _number(settings["eps"]) not in map(_number, grid):
            tried = ", ".join(map(str, grid))
            yield Clash(("diagnostics", "eps"), f"{name} does not try it; choose one of {tried}, or leave eps out")


def _number(value: Value) -> object:
    """An ε as a number, however it is written; what is none stays what it is, for others to complain about."""
    try:
        return as_number(value)
    except ValueError:
        return value


def _defenses(pipeline: dict[str, Value]) -> Iterator[Clash]:
    """Defences are told apart by their names, know what they defend against, and suit what the subjects answer."""
    defenses = [_dict(defense) for defense in _list(pipeline.get("defenses"))]
    called = [_defense_name(defense) for defense in defenses]
    for position, (defense, name) in enumerate(zip(defenses, called, strict=True)):
        where: Where = ("defenses", position)
        if name and called.index(name) < position:
            yield Clash(where, f"another defence is called {name} as well; give this one a name")
        if _defense_kind(defense) == "copies":
            attacks = [_attack_name(attack) for attack in _list(pipeline.get("attacks"))]
            meant = defense.get("attack")
            if isinstance(meant, str) and meant != "mixed" and meant not in attacks:
                yield Clash((*where, "attack"), f"there is no such attack; {suggestion(meant, [*attacks, 'mixed'])}")
            continue
        if defense and defense.get("eps") is None and not pipeline.get("attacks"):
            yield Clash(where, "names no ε to defend against, and there are no attacks to take it from: add eps")
        if defense.get("defense") == "maadvt" and _dict(pipeline.get("source")).get("labels") is not None:
            yield Clash(where, "is for one class per image, and source.labels gives several: use standard or mpadvt")


def _defense_name(defense: dict[str, Value]) -> str:
    """What a defence is called."""
    unnamed = f"on-{defense.get('attack')}" if defense.get("attack") else defense.get("defense")
    return str(defense.get("name") or unnamed or "")


def _attack_kind(attack: Value) -> str:
    """What an attack is done to: images, texts or terms."""
    settings = _dict(attack)
    word = attack if isinstance(attack, str) else settings.get("attack", next(iter(settings), ""))
    return "texts" if word in (*WORD_KINDS, *NOISE_KINDS) else "terms" if word in TERM_KINDS else "images"


def _defense_kind(defense: Value) -> str:
    """What a defence trains: subjects for images, or for texts."""
    settings = _dict(defense)
    word = defense if isinstance(defense, str) else settings.get("defense", next(iter(settings), ""))
    return "copies" if word == "attacked-copies" else "images"


def _attack_name(attack: Value) -> str:
    """What an attack is called, also where `--set` brought it in short: `fgsm`, or `pgd: {steps: 3}`."""
    if isinstance(attack, str):
        return attack
    settings = _dict(attack)
    if len(settings) == 1 and "attack" not in settings:
        ((kind, options),) = settings.items()
        return str(_dict(options).get("name") or kind)
    return str(settings.get("name") or settings.get("attack") or "")


def _gate(pipeline: dict[str, Value], gate: dict[str, Value], where: Where) -> Iterator[Clash]:
    finding = gate.get("finding")
    stage = finding.partition(".")[0] if isinstance(finding, str) else ""
    if not stage:
        return
    if stage not in STAGES:
        yield Clash((*where, "finding"), f"no stage measures {stage}; {suggestion(stage, STAGES)}")
        return
    given_votes = stage == "labeling" and (
        _dict(pipeline.get("source")).get("votes") is not None or _carries_votes(pipeline)
    )
    if STAGES[stage] and not given_votes and all(pipeline.get(name) is None for name in STAGES[stage]):
        yield Clash((*where, "finding"), f"nothing will measure it: the pipeline has no {' or '.join(STAGES[stage])}")
    if stage == "ordering":
        yield from _ordering_gate(pipeline, gate, where)
    if stage == "attack" and finding != "attack.red_flag":
        yield from _attack_gate(pipeline, gate, where)
    subjects = [_name_of(subject) for _, subject in _each_subject(pipeline)]
    name = gate.get("subject")
    defended = pipeline.get("defenses") and str(name).partition("+")[0] in subjects  # plain+maadvt
    if isinstance(name, str) and name not in subjects and not defended:
        said = suggestion(name, subjects) if subjects else "the pipeline has no subject"
        yield Clash((*where, "subject"), f"there is no such subject; {said}")


def _attack_gate(pipeline: dict[str, Value], gate: dict[str, Value], where: Where) -> Iterator[Clash]:
    of = gate.get("of")
    called = [*filter(None, map(_attack_name, _list(pipeline.get("attacks"))))]
    known = [*called, WORST_CASE] if len(called) > 1 else called
    if isinstance(of, str) and called and of not in known:
        yield Clash((*where, "of"), f"there is no such attack; {suggestion(of, known)}")


def _ordering_gate(pipeline: dict[str, Value], gate: dict[str, Value], where: Where) -> Iterator[Clash]:
    of, group = gate.get("of"), gate.get("group")
    compared = _dict(pipeline.get("ordering")).get("compare") is True
    if isinstance(of, str) and of not in APPROACHES:
        yield Clash((*where, "of"), f"is no approach; {suggestion(of, APPROACHES)}")
    elif isinstance(of, str) and of != "ours" and not compared and pipeline.get("ordering") is not None:
        yield Clash((*where, "of"), "is measured only with ordering.compare: true; add it, or write ours")
    labelers = _dict(pipeline.get("weak_labels")).get("labelers") or list(LABELERS)
    known = [name for name in _list(labelers) if isinstance(name, str)]
    if isinstance(group, str) and known and group not in known and group in LABELERS:
        yield Clash((*where, "group"), f"is not among weak_labels.labelers ({', '.join(known)}); add it there")


def _each_subject(pipeline: dict[str, Value]) -> Iterator[tuple[Where, dict[str, Value]]]:
    if isinstance(pipeline.get("subject"), dict):
        yield ("subject",), _dict(pipeline["subject"])
    for position, subject in enumerate(_list(pipeline.get("subjects"))):
        if isinstance(subject, dict):
            yield ("subjects", position), subject


def _name_of(subject: dict[str, Value]) -> str:
    return str(subject.get("name") or "subject")


def _dict(value: Value) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []
