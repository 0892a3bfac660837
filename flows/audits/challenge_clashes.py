"""What attacks and defences cannot be together with: each other's names, and subjects that they cannot be on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.flows.kind import Clash, Written, as_dict, as_list, choice_named, each_subject, name_of, unknown
from assay.flows.yaml_document import Value, Where, suggestion
from assay.tasks.attacks.choice import AttackChoice, ImageAttackChoice, TermAttackChoice, TextAttackChoice
from assay.tasks.attacks.measures import WORST, worst_called
from assay.tasks.attacks.settings import as_radius, eps_name, norm_and_slice
from assay.tasks.attacks.table import ATTACKS, BUNDLES, IMAGE_ATTACKS
from assay.tasks.defenses.settings import MIXED
from assay.tasks.statistics.metrics import controlled_by
from assay.tasks.subjects.addresses.table import is_only_asked
from assay.tasks.subjects.kinds import kinds_written

READERS = {
    "images": (("network",), "images"),
    "texts": (("classifier",), "texts"),
    "terms": (("tagger", "scorer"), "tagged sentences or pairs of sentences"),
    "copies": (("classifier", "tagger", "scorer"), "texts, tagged sentences or pairs"),
}
"""Which subjects, and how they are called, an attack or a defence of each kind can be on."""


def clashes(pipeline: Written) -> Iterator[Clash]:
    """Attacks and defences of images need a subject that looks at images, those of texts one that reads."""
    for stage, key, kind_of in (("attacks", "attack", attack_kind), ("defenses", "defense", _defense_kind)):
        for position, item in enumerate(as_list(pipeline.get(stage))):
            ways, kind = READERS[kind_of(pipeline, item)]
            if not ways_of(pipeline).intersection(ways):
                named = as_dict(item).get(key) or "it"
                why = f"{named} needs a subject for {kind}: add one with {ways[0]}, as in subject: {{{ways[0]}: …}}"
                yield Clash((stage, position), why)
    yield from _attacks(pipeline)
    yield from _without_gradient(pipeline)
    yield from _defenses(pipeline)


def _without_gradient(pipeline: Written) -> Iterator[Clash]:
    """Subjects that are only asked need an attack that only asks, and cannot be trained to withstand one."""
    networks = networks_of(pipeline)
    asked = [name_of(subject) for subject in networks if only_asked(subject)]
    if not asked:
        return
    written = [attack_choice(pipeline, attack) for attack in as_list(pipeline.get("attacks"))]
    choices = [(at, choice) for at, choice in enumerate(written) if isinstance(choice, ImageAttackChoice)]
    if choices and not any(choice.black_box for _, choice in choices):
        position, choice = choices[0]
        asking = ", ".join(choice.word for choice in IMAGE_ATTACKS if choice.black_box)
        yield Clash(
            ("attacks", position),
            f"{choice.word} follows gradients, and {asked[0]} is only asked and has none: add an attack that needs "
            f"none ({asking})",
        )
    for position, defense in enumerate(as_list(pipeline.get("defenses"))):
        if _defense_kind(pipeline, defense) == "images" and len(asked) == len(networks):
            why = f"trains a subject, and {asked[0]} comes as it is: leave it out, or add another"
            yield Clash(("defenses", position), why)


def networks_of(pipeline: Written) -> list[dict[str, Value]]:
    """The subjects that look at images."""
    return [subject for _, subject in each_subject(pipeline) if "network" in subject]


def only_asked(subject: dict[str, Value]) -> bool:
    """Whether a subject is a model at an address that has no gradient and learns nothing."""
    return any(is_only_asked(str(subject[kind.name])) for kind in kinds_written(subject))


def needs_subject(pipeline: Written, stage: str, way: str, kind: str) -> Iterator[Clash]:
    """A stage whose subjects are not there."""
    if pipeline.get(stage) not in (None, [], ()) and way not in ways_of(pipeline):
        yield Clash((stage,), f"needs a subject for {kind}: add one with {way}, as in subject: {{{way}: …}}")


def one_class_each(pipeline: Written, key: str) -> Iterator[Clash]:
    """What cannot be with samples of several labels: they have one class each, or the key goes."""
    if pipeline.get(key) is not None and several_labels(pipeline):
        yield Clash((key,), f"need one class a sample, and source.labels has several: leave {key} out")


def some_subject(pipeline: Written, key: str, why: str) -> Iterator[Clash]:
    """What says something of subjects needs one."""
    if pipeline.get(key) is not None and not (pipeline.get("subject") or pipeline.get("subjects")):
        yield Clash((key,), f"{why}, and nothing is audited: add a subject")


def ways_of(pipeline: Written) -> set[str]:
    """Everything that is set of a subject."""
    return {way for _, subject in each_subject(pipeline) for way in subject}


def attack_gate(pipeline: Written, gate: dict[str, Value], where: Where) -> Iterator[Clash]:
    """A gate on attacks names one that is there, or the worst case of several."""
    of = gate.get("of")
    written = as_list(pipeline.get("attacks"))
    called, norms = [*filter(None, map(attack_name, written))], [norm_of(pipeline, attack) for attack in written]
    known = [*called, *(worst_called(norm) for norm in dict.fromkeys(norms) if norms.count(norm) > 1)]
    if gate.get("finding") != "attack.red_flag" and isinstance(of, str) and called and of not in known:
        apart = next((word for word, parts in BUNDLES.items() if of in [part.called for part in parts]), None)
        why = suggestion(of, known) if apart is None else f"{of} has a number of its own under {apart}: ask for that"
        yield Clash((*where, "of"), f"there is no such attack; {why}")
        return
    meant = [
        _eps_of(attack, norm)
        for attack, norm in zip(written, norms, strict=True)
        if of in (None, attack_name(attack), worst_called(norm))
    ]
    yield from _untried(gate, meant, where)


def defense_gate(pipeline: Written, gate: dict[str, Value], where: Where) -> Iterator[Clash]:
    """A gate on defences of images names an ε that an attack tries on every pixel: under those they are compared."""
    attacks = [attack for attack in as_list(pipeline.get("attacks")) if attack_kind(pipeline, attack) == "images"]
    meant = [_eps_of(attack, "linf") for attack in attacks if norm_of(pipeline, attack) == "linf"]
    if attacks and gate.get("finding") != "defense.certified_accuracy":
        yield from _untried(gate, meant or [set()], where)


def _untried(gate: dict[str, Value], meant: Sequence[set[str] | None], where: Where) -> Iterator[Clash]:
    """A gate at an ε that none of the attacks which are meant tries, where all of theirs are written down."""
    group = str(gate.get("group") or "").partition(", ")[0]
    if norm_and_slice(group)[0] and meant and None not in meant:
        there = sorted(set[str]().union(*filter(None, meant)))
        if group not in there:
            why = suggestion(group, there) if there else "defences are compared where ε bounds every pixel (linf)"
            yield Clash((*where, "group"), f"no attack has it; {why}")


def norm_of(pipeline: Written, attack: Value) -> str:
    """The norm that the ε of an attack on images is given in."""
    choice = attack_choice(pipeline, attack)
    usual = choice.settings.norms[0] if isinstance(choice, ImageAttackChoice) else "linf"
    return str(as_dict(attack).get("norm") or usual)


def _eps_of(attack: Value, norm: str) -> set[str] | None:
    """The ε of an attack as gates name them; None where its settings leave them to their default."""
    written = as_dict(attack).get("eps")
    names = {eps_name(0, norm)}
    for value in written if isinstance(written, list) else [written]:
        try:
            number = as_radius(value, norm)
        except ValueError:
            return None
        if not isinstance(number, int | float) or isinstance(number, bool):
            return None
        names.add(eps_name(number, norm))
    return names


def _attacks(pipeline: Written) -> Iterator[Clash]:
    """Attacks are told apart by their names, and those that aim at a class say at which."""
    called = [attack_name(attack) for attack in as_list(pipeline.get("attacks"))]
    for position, attack in enumerate(as_list(pipeline.get("attacks"))):
        settings, name = as_dict(attack), called[position]
        if name and called.index(name) < position:
            yield Clash(("attacks", position), f"another attack is called {name} as well; give this one a name")
        if name.startswith(WORST):
            why = f"a name that begins with {WORST} is for what several attacks leave together; give this another one"
            yield Clash(("attacks", position), why)
        lonely = len(networks_of(pipeline)) == 1
        if settings.get("transfer") is True and lonely and not pipeline.get("defenses"):
            yield Clash(("attacks", position, "transfer"), "there is only one subject, and nothing to transfer to")
        if (
            attack_kind(pipeline, attack) == "terms"
            and settings.get("terms", "gold") == "gold"
            and any(subject.get("scorer") is not None for _, subject in each_subject(pipeline))
        ):
            where: Where = ("attacks", position, "terms") if "terms" in settings else ("attacks", position)
            yield Clash(where, "pairs of sentences have no gold tags; say who finds the terms, as in terms: lexicon")
        choice = attack_choice(pipeline, attack)
        if isinstance(choice, ImageAttackChoice) and choice.one_class and several_labels(pipeline):
            why = "is for one class per image, and these bear several labels: take pgd, apgd or square"
            yield Clash(("attacks", position), why)
        aims = settings.get("goal") == "targeted" and settings.get("attack") not in ("gap", "hopskipjump")
        if aims and settings.get("target") is None:
            yield Clash(("attacks", position, "goal"), "names no class to aim at: add target, as in target: 0")


def _defenses(pipeline: Written) -> Iterator[Clash]:
    """Defences are told apart by their names, know what they defend against, and suit what the subjects answer."""
    defenses = [as_dict(defense) for defense in as_list(pipeline.get("defenses"))]
    called = [_defense_name(defense) for defense in defenses]
    for position, (defense, name) in enumerate(zip(defenses, called, strict=True)):
        where: Where = ("defenses", position)
        if name and called.index(name) < position:
            yield Clash(where, f"another defence is called {name} as well; give this one a name")
        tested = controlled_by(name, called)
        if tested is not None and defenses[called.index(tested)].get("control"):
            yield Clash(where, f"{name} is what the control of {tested} is called; give this one another name")
        if _defense_kind(pipeline, defense) == "copies":
            attacks = [attack_name(attack) for attack in as_list(pipeline.get("attacks"))]
            yield from unknown((*where, "attack"), defense.get("attack"), "attack", [*attacks, MIXED])
            continue
        trained = [defense] if defense.get("train") else networks_of(pipeline)
        if "best" in (defense.get("stop"), *as_list(defense.get("stop"))) and any(
            as_dict(each.get("train")).get("validation") == 0 for each in trained
        ):
            why = "the best epoch is chosen by samples held out, and train.validation is 0: set some aside"
            yield Clash((*where, "stop"), why)
        norms = [norm_of(pipeline, attack) for attack in as_list(pipeline.get("attacks"))]
        if defense and defense.get("eps") is None and "linf" not in norms:
            attacks_there = "no attack bounds every pixel (linf)" if norms else "there are no attacks"
            yield Clash(where, f"names no ε to defend against, and {attacks_there} to take it from: add eps")
        if defense.get("defense") in ("maadvt", "mart", "trades") and several_labels(pipeline):
            yield Clash(where, "is for one class per image, and these bear several labels: use standard or mpadvt")


def several_labels(pipeline: Written) -> bool:
    """Whether the samples are known to bear several labels each."""
    from assay.data.samples.registry import EMBEDDED

    source = as_dict(pipeline.get("source"))
    sample = EMBEDDED.get(str(source.get("dataset")))
    return source.get("labels") is not None or (sample is not None and sample.several_labels)


def _defense_name(defense: dict[str, Value]) -> str:
    """What a defence is called."""
    unnamed = f"on-{defense.get('attack')}" if defense.get("attack") else defense.get("defense")
    return str(defense.get("name") or unnamed or "")


def attack_choice(pipeline: Written, attack: Value) -> AttackChoice | None:
    """The attack that is meant, where there is such a one."""
    choice = choice_named(pipeline, ("attacks",), as_dict(attack).get("attack"), ATTACKS)
    return choice if isinstance(choice, AttackChoice) else None


def attack_kind(pipeline: Written, attack: Value) -> str:
    """What an attack is done to: images, texts or terms."""
    choice = attack_choice(pipeline, attack)
    of_texts, of_terms = isinstance(choice, TextAttackChoice), isinstance(choice, TermAttackChoice)
    return "texts" if of_texts else "terms" if of_terms else "images"


def _defense_kind(_pipeline: Written, defense: Value) -> str:
    """What a defence trains: subjects for images, or for texts."""
    return "copies" if as_dict(defense).get("defense") == "attacked-copies" else "images"


def attack_name(attack: Value) -> str:
    """What an attack is called."""
    settings = as_dict(attack)
    return str(settings.get("name") or settings.get("attack") or "")
