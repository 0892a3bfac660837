"""What attacks on texts, and defences by them, cannot be together with."""

from __future__ import annotations

from collections.abc import Iterator

from assay.flows.audits.challenge_clashes import attack_choice, attack_kind, attack_name
from assay.flows.configuration.mistakes import suggestion
from assay.flows.configuration.written import Clash, as_dict, as_list, each_subject, name_of
from assay.flows.configuration.yaml_source import Value
from assay.tasks.attacks.text_choice import TextAttackChoice
from assay.tasks.defenses.text_settings import MIXED
from assay.tasks.subjects.kinds import kind_called


def text_clashes(pipeline: dict[str, Value]) -> Iterator[Clash]:
    """A guided attack needs the oracle that guides it; attacked copies need a classifier that learns from them."""
    attacks = [as_dict(attack) for attack in as_list(pipeline.get("attacks"))]
    texts = {attack_name(attack) for attack in attacks if attack_kind(pipeline, attack) == "texts"}
    trust = pipeline.get("trust")
    for position, attack in enumerate(attacks):
        if attack.get("attack") != "guided":
            continue
        if trust is None:
            yield Clash(
                ("attacks", position),
                "guided goes by the trust oracle's word pools, and the pipeline has no trust: "
                "add trust, as in trust: {explainers: [lime]}, or use a2t",
            )
            continue
        explainer = attack.get("explainer")
        asked = [one for one in as_list(as_dict(trust).get("explainers")) if isinstance(one, str)] or ["lime"]
        if isinstance(explainer, str) and explainer not in asked:
            yield Clash(
                ("attacks", position, "explainer"), f"is not among trust.explainers; {suggestion(explainer, asked)}"
            )
    yield from _compared(pipeline, attacks)
    for position, written in enumerate(as_list(pipeline.get("defenses"))):
        defense = as_dict(written)
        learns = kind_called("classifier").learns
        readers = [one for _, one in each_subject(pipeline) if isinstance(one.get("classifier"), str)]
        if defense.get("attack") not in (*texts, MIXED):
            continue
        if readers and not any(learns(str(one["classifier"]), one.get("train")) for one in readers):
            names, comes = " and ".join(map(name_of, readers)), "comes" if len(readers) == 1 else "come"
            yield Clash(
                ("defenses", position),
                f"{names} {comes} as {'it is' if len(readers) == 1 else 'they are'} and "
                f"learn{'s' if len(readers) == 1 else ''} from no attacked copies: give it train, audit a classifier "
                "that Assay trains, or leave the defence out",
            )


def _compared(pipeline: dict[str, Value], attacks: list[dict[str, Value]]) -> Iterator[Clash]:
    """Word attacks stand beside each other on the same texts, so all attack as many."""
    choices = [attack_choice(pipeline, attack) for attack in attacks]
    swapping = [at for at, one in enumerate(choices) if isinstance(one, TextAttackChoice) and one.swaps_words]
    limits = {position: attacks[position].get("texts") for position in swapping}
    guided = any(attacks[position].get("attack") == "guided" for position in limits)
    first = next(iter(limits.values()), None)
    for position, limit in limits.items():
        if guided and limit != first:
            written = "all texts" if first is None else f"{first} texts"
            yield Clash(
                ("attacks", position, *(("texts",) if limit is not None else ())),
                f"another word attack is on {written}, and they are compared on the same ones: set texts alike",
            )
