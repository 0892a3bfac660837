"""What audits of image subjects cannot be together with."""

from __future__ import annotations

from collections.abc import Iterator

from assay.flows.audits.challenge_clashes import attack_name, needs_subject, only_asked, several_labels
from assay.flows.configuration.mistakes import suggestion
from assay.flows.configuration.written import Clash, as_dict, as_list, each_subject, name_of
from assay.flows.configuration.yaml_source import Value
from assay.tasks.subjects.eps import as_number


def corruption_clashes(pipeline: dict[str, Value]) -> Iterator[Clash]:
    """The subject that flips are compared with is there."""
    yield from needs_subject(pipeline, "corruptions", "network", "images")
    reference = as_dict(pipeline.get("corruptions")).get("reference")
    subjects = [name_of(subject) for _, subject in each_subject(pipeline)]
    if isinstance(reference, str) and reference not in subjects:
        yield Clash(("corruptions", "reference"), f"there is no such subject; {suggestion(reference, subjects)}")


def smoothing_clashes(pipeline: dict[str, Value]) -> Iterator[Clash]:
    """Images bear one class each."""
    yield from needs_subject(pipeline, "smoothing", "network", "images")
    if several_labels(pipeline) and pipeline.get("smoothing") is not None:
        yield Clash(("smoothing",), "certifies one class per image, and these bear several labels: leave it out")


def diagnostics_clashes(pipeline: dict[str, Value]) -> Iterator[Clash]:
    """What is looked into exists: attacks and subjects of those names, and an ε that each of the attacks tries."""
    yield from needs_subject(pipeline, "diagnostics", "network", "images")
    seeing = [one for _, one in each_subject(pipeline) if "network" in one]
    if pipeline.get("diagnostics") is not None and seeing and all(map(only_asked, seeing)):
        yield Clash(
            ("diagnostics",),
            f"looks inside a network, and {name_of(seeing[0])} is only asked: leave it out, or add a network",
        )
    settings = as_dict(pipeline.get("diagnostics"))
    attacks = {attack_name(attack): as_dict(attack) for attack in as_list(pipeline.get("attacks"))}
    subjects = [name_of(subject) for _, subject in each_subject(pipeline)]
    for position, name in enumerate(as_list(settings.get("attacks"))):
        if isinstance(name, str) and name not in attacks:
            yield Clash(("diagnostics", "attacks", position), f"there is no such attack; {suggestion(name, attacks)}")
    yield from _eps_looked_at(settings, attacks)
    for position, name in enumerate(as_list(settings.get("subjects"))):
        if isinstance(name, str) and name.partition("+")[0] not in subjects:
            yield Clash(
                ("diagnostics", "subjects", position), f"there is no such subject; {suggestion(name, subjects)}"
            )


def _eps_looked_at(settings: dict[str, Value], attacks: dict[str, dict[str, Value]]) -> Iterator[Clash]:
    """The ε is one that every attack which is looked at tries."""
    generators = [name for name, attack in attacks.items() if attack.get("attack") == "gap"]
    usual = dict.fromkeys([*list(attacks)[:1], *generators[:1]])
    for name in as_list(settings["attacks"]) if settings.get("attacks") is not None else usual:
        if settings.get("eps") is None or not isinstance(name, str) or "attack" not in attacks.get(name, {}):
            continue
        written = attacks[name].get("eps", 4 / 255)
        grid = as_list(written) or [written]
        if _number(settings["eps"]) not in map(_number, grid):
            tried = ", ".join(map(str, grid))
            yield Clash(("diagnostics", "eps"), f"{name} does not try it; choose one of {tried}, or leave eps out")


def _number(value: Value) -> object:
    """An ε as a number, however it is written; what is none stays what it is, for others to complain about."""
    try:
        return as_number(value)
    except ValueError:
        return value
