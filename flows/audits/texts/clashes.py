"""What attacks on texts, and defences by them, cannot be together with."""

from __future__ import annotations

from collections.abc import Iterator

from assay.flows.audits.challenge_clashes import attack_name
from assay.flows.configuration.mistakes import suggestion
from assay.flows.configuration.written import Clash, as_dict, as_list, each_subject, name_of
from assay.flows.configuration.yaml_source import Value
from assay.tasks.attacks.text_table import TEXT_ATTACKS
from assay.tasks.defenses.text_settings import MIXED
from assay.tasks.subjects.kinds import kind_called


def text_clashes(pipeline: dict[str, Value]) -> Iterator[Clash]:
    """A guided attack needs the oracle that guides it; attacked copies need a classifier that learns from them."""
    kinds = {attack_name(attack): _kind(attack) for attack in as_list(pipeline.get("attacks"))}
    trust = pipeline.get("trust")
    for position, attack in enumerate(as_list(pipeline.get("attacks"))):
        if _kind(attack) != "guided":
            continue
        if trust is None:
            yield Clash(
                ("attacks", position), "guided goes by the trust oracle's word pools, and the pipeline has no trust: "
                "add trust, as in trust: {explainers: [lime]}, or use a2t",
            )  # fmt: skip
            continue
        explainer = _options(attack).get("explainer")
        asked = [one for one in as_list(as_dict(trust).get("explainers")) if isinstance(one, str)] or ["lime"]
        if isinstance(explainer, str) and explainer not in asked:
            yield Clash(
                ("attacks", position, "explainer"), f"is not among trust.explainers; {suggestion(explainer, asked)}"
            )
    yield from _compared(pipeline)
    for position, written in enumerate(as_list(pipeline.get("defenses"))):
        defense = as_dict(written)
        meant = kinds.get(str(defense.get("attack")), "")
        texts = meant in TEXT_ATTACKS.words or defense.get("attack") == MIXED
        learns = kind_called("classifier").learns
        readers = [one for _, one in each_subject(pipeline) if isinstance(one.get("classifier"), str)] if texts else []
        if readers and not any(learns(str(one["classifier"]), one.get("train")) for one in readers):
            names, comes = " and ".join(map(name_of, readers)), "comes" if len(readers) == 1 else "come"
            yield Clash(
                ("defenses", position), f"{names} {comes} as {'it is' if len(readers) == 1 else 'they are'} and "
                f"learn{'s' if len(readers) == 1 else ''} from no attacked copies: give it train, audit a classifier "
                "that Assay trains, or leave the defence out",
            )  # fmt: skip


def _compared(pipeline: dict[str, Value]) -> Iterator[Clash]:
    """Word attacks stand beside each other on the same texts, so all attack as many."""
    limits = {
        position: _options(attack).get("texts")
        for position, attack in enumerate(as_list(pipeline.get("attacks"))) if _swaps_words(attack)
    }  # fmt: skip
    guided = any(_kind(as_list(pipeline.get("attacks"))[position]) == "guided" for position in limits)
    first = next(iter(limits.values()), None)
    for position, limit in limits.items():
        if guided and limit != first:
            written = "all texts" if first is None else f"{first} texts"
            yield Clash(
                ("attacks", position, *(("texts",) if limit is not None else ())),
                f"another word attack is on {written}, and they are compared on the same ones: set texts alike",
            )


def _swaps_words(attack: Value) -> bool:
    """Whether it is an attack that swaps words."""
    return any(one.swaps_words for one in TEXT_ATTACKS if one.word == _kind(attack))


def _kind(attack: Value) -> str:
    """The kind of attack, also where `--set` brought it in short."""
    if isinstance(attack, str):
        return attack
    settings = as_dict(attack)
    return str(settings.get("attack") or next(iter(settings), ""))


def _options(attack: Value) -> dict[str, Value]:
    """What is set of an attack, also where `--set` brought it in short."""
    settings = as_dict(attack)
    return settings if "attack" in settings else as_dict(next(iter(settings.values()), None))
