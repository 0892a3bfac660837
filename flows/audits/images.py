"""Audits of image subjects as kinds: attacks and defences, corruptions, diagnostics, smoothing."""

from __future__ import annotations

from collections.abc import Iterator

from assay.flows import kind
from assay.flows.audits import challenge_clashes
from assay.flows.audits.challenge_clashes import attack_name, needs_subject, networks_of, only_asked, several_labels
from assay.flows.yaml_document import Value, suggestion
from assay.tasks.corruptions.table import Corruptions
from assay.tasks.defenses.settings import Smoothing
from assay.tasks.diagnostics.settings import Diagnostics
from assay.tasks.statistics.metrics import metrics_of
from assay.tasks.subjects.settings import as_number

FLOW, INSIDE = kind.Late("assay.flows.audits.images_flow"), kind.Late("assay.flows.audits.images_inside_flow")


def corruption_clashes(pipeline: kind.Written) -> Iterator[kind.Clash]:
    """The subject that flips are compared with is there."""
    yield from needs_subject(pipeline, "corruptions", "network", "images")
    reference = kind.as_dict(pipeline.get("corruptions")).get("reference")
    subjects = [kind.name_of(subject) for _, subject in kind.each_subject(pipeline)]
    yield from kind.unknown(("corruptions", "reference"), reference, "subject", subjects)


def smoothing_clashes(pipeline: kind.Written) -> Iterator[kind.Clash]:
    """Images bear one class each."""
    yield from needs_subject(pipeline, "smoothing", "network", "images")
    if several_labels(pipeline) and pipeline.get("smoothing") is not None:
        yield kind.Clash(("smoothing",), "certifies one class per image, and these bear several labels: leave it out")


def diagnostics_clashes(pipeline: kind.Written) -> Iterator[kind.Clash]:
    """What is looked into exists: attacks and subjects of those names, and an ε that each of the attacks tries."""
    yield from needs_subject(pipeline, "diagnostics", "network", "images")
    seeing = networks_of(pipeline)
    if pipeline.get("diagnostics") is not None and seeing and all(map(only_asked, seeing)):
        why = f"looks inside a network, and {kind.name_of(seeing[0])} is only asked: leave it out, or add a network"
        yield kind.Clash(("diagnostics",), why)
    settings = kind.as_dict(pipeline.get("diagnostics"))
    attacks = {attack_name(attack): kind.as_dict(attack) for attack in kind.as_list(pipeline.get("attacks"))}
    subjects = [kind.name_of(subject) for _, subject in kind.each_subject(pipeline)]
    for position, name in enumerate(kind.as_list(settings.get("attacks"))):
        yield from kind.unknown(("diagnostics", "attacks", position), name, "attack", attacks)
    yield from _eps_looked_at(settings, attacks)
    for position, name in enumerate(kind.as_list(settings.get("subjects"))):
        if isinstance(name, str) and name.partition("+")[0] not in subjects:
            why = f"there is no such subject; {suggestion(name, subjects)}"
            yield kind.Clash(("diagnostics", "subjects", position), why)


def _eps_looked_at(settings: dict[str, Value], attacks: dict[str, dict[str, Value]]) -> Iterator[kind.Clash]:
    """The ε is one that every attack which is looked at tries."""
    generators = [name for name, attack in attacks.items() if attack.get("attack") == "gap"]
    usual = dict.fromkeys([*list(attacks)[:1], *generators[:1]])
    for name in kind.as_list(settings["attacks"]) if settings.get("attacks") is not None else usual:
        if settings.get("eps") is None or not isinstance(name, str) or "attack" not in attacks.get(name, {}):
            continue
        written = attacks[name].get("eps", 4 / 255)
        grid = [eps for eps in kind.as_list(written) or [written] if eps is not None]
        if grid and _number(settings["eps"]) not in map(_number, grid):
            tried = ", ".join(dict.fromkeys(map(str, grid)))
            yield kind.Clash(("diagnostics", "eps"), f"{name} does not try it; choose one of {tried}, or leave eps out")


def _number(value: Value) -> object:
    """An ε as a number, however it is written; what is none stays what it is, for others to complain about."""
    try:
        return as_number(value)
    except ValueError:
        return value


def sees_images(pipeline: kind.AuditRequest) -> bool:
    """Whether a subject looks at images."""
    return any(subject.network is not None for subject in pipeline.subjects)


IMAGES = kind.AuditKind(
    "attacks",
    sees_images,
    FLOW.challenge_images,
    stands_on=("data", "subjects"),
    measures=(
        kind.Measured("attack", metrics_of("attack"), ("attacks",), gate=challenge_clashes.attack_gate),
        kind.Measured("defense", metrics_of("defense"), ("defenses", "smoothing"), gate=challenge_clashes.defense_gate),
    ),
    clashes=challenge_clashes.clashes,
    hardness=FLOW.smallest_eps,
    page=FLOW.show_challenge,
    followed=FLOW.challenge_followed,
    outcomes=FLOW.outcomes_under_attack,
    sampled=FLOW.sampled_attacks,
)
CORRUPTIONS = kind.AuditKind(
    "corruptions",
    lambda pipeline: pipeline.asked(Corruptions) is not None and sees_images(pipeline),
    FLOW.corrupt,
    keys=(kind.Key("corruptions", Corruptions, "{severities: [1, 3, 5]}"),),
    stands_on=("subjects", "attacks"),
    measures=(kind.Measured("corruption", metrics_of("corruption"), ("corruptions",)),),
    clashes=corruption_clashes,
    hardness=FLOW.flips_per_sample,
    page=FLOW.show_corruptions,
    followed=kind.Late("assay.tasks.corruptions.page").followed,
    outcomes=FLOW.outcomes_of_corruptions,
    sampled=FLOW.sampled_corruptions,
)
DIAGNOSTICS = kind.AuditKind(
    "diagnostics",
    lambda pipeline: pipeline.asked(Diagnostics) is not None and sees_images(pipeline),
    INSIDE.look,
    keys=(kind.Key("diagnostics", Diagnostics, "{attacks: [pgd], eps: 0.1}"),),
    stands_on=("data", "subjects", "attacks"),
    measures=(kind.Measured("diagnostics", metrics_of("diagnostics"), ("diagnostics",)),),
    clashes=diagnostics_clashes,
    page=INSIDE.show_insides,
)
SMOOTHING = kind.AuditKind(
    "smoothing",
    lambda pipeline: pipeline.asked(Smoothing) is not None and sees_images(pipeline),
    INSIDE.certify,
    keys=(kind.Key("smoothing", Smoothing, "{sigma: 0.25}"),),
    stands_on=("subjects", "attacks"),
    clashes=smoothing_clashes,
    page=INSIDE.show_certificates,
)
