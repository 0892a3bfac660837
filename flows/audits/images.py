"""Audits of image subjects as kinds: attacks and defences, corruptions, diagnostics, smoothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from assay.flows.audits import challenge_clashes
from assay.flows.audits.challenge_clashes import attack_name, needs_subject, only_asked, several_labels
from assay.flows.kind import AuditKind, Clash, Ground, Key, Measured, as_dict, as_list, each_subject, name_of
from assay.flows.yaml_document import Value, suggestion
from assay.tasks.attacks import table as attacks
from assay.tasks.corruptions import table as corruptions
from assay.tasks.corruptions.table import Corruptions
from assay.tasks.defenses import table as defenses
from assay.tasks.defenses.settings import Smoothing
from assay.tasks.diagnostics import settings as diagnostics
from assay.tasks.diagnostics.settings import Diagnostics
from assay.tasks.subjects.settings import as_number

if TYPE_CHECKING:
    from assay.data.schemas import SampleHardness
    from assay.flows.audits.images_flow import Flips, Robustness
    from assay.flows.audits.images_inside_flow import Certificates, Insides
    from assay.flows.kind import Outcomes, Tables
    from assay.flows.pipeline import Pipeline
    from assay.infra.storage.artifacts import Artifact
    from assay.tasks.attacks.gallery import AttackedImages
    from assay.tasks.attacks.task import Attacks
    from assay.tasks.reporting.parts import Part, Verdict
    from assay.tasks.reporting.report import Headline
    from assay.tasks.statistics.between_runs import Sampled
    from assay.tasks.statistics.findings import FindingIndex


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


def sees_images(pipeline: Pipeline) -> bool:
    """Whether a subject looks at images."""
    return any(one.network is not None for one in pipeline.subjects)


def challenge(ground: Ground) -> Robustness:
    """Attack, defend, attack the defended, compare."""
    from assay.flows.audits.images_flow import challenge_images

    return challenge_images(ground)


def smallest_eps(ground: Ground, robustness: Robustness) -> Iterator[Artifact[SampleHardness]]:
    """The smallest ε at which an attack succeeds, of the subjects themselves, not of defended copies."""
    from assay.tasks.hardness.task import find_hardness

    for subject in ground.pipeline.subjects:
        for under_attack in robustness.attacked.get(subject.name, {}).values():
            yield find_hardness(under_attack.attacked, "eps", subject.name)


def challenge_page(ground: Ground, robustness: Robustness, findings: FindingIndex) -> Iterator[Part]:
    """What attacks did, shown, and what defences gained."""
    from assay.data.schemas import class_names
    from assay.flows.audits.data import Data
    from assay.infra.stages.partitions import collect

    challenged = robustness.challenged
    if robustness.attacked:
        from assay.tasks.attacks.page import page as attacks_page

        classes = class_names(collect(ground.of(Data).classes, None))
        attacked = (one for by_attack in robustness.attacked.values() for one in by_attack.values())
        pictures = [picture for one in attacked for picture in pictures_of(one, classes)]
        yield attacks_page(findings, pictures, robustness.left_out(ground.pipeline.image_attacks))
    if ground.pipeline.image_defenses:
        from assay.tasks.defenses.page import page as defences_page

        curves = {name: collect(challenged.models[name].curve, None) for name in challenged.copies}
        yield defences_page(findings, {name: dict(copies) for name, copies in challenged.defended.items()}, curves)


def pictures_of(under_attack: Attacks, classes: Sequence[str]) -> list[AttackedImages]:
    """The images of one attack that its gallery shows: however many were kept, only those are read."""
    from assay.infra.stages.partitions import collect, collect_rows
    from assay.tasks.attacks.gallery import CHOSEN_BY, shown_of, to_be_shown

    ids = to_be_shown(collect(under_attack.attacked, CHOSEN_BY), collect(under_attack.images, ["id", "eps"]))
    return shown_of(collect_rows(under_attack.attacked, ids), collect_rows(under_attack.images, ids), classes)


def challenge_verdict(findings: FindingIndex) -> Iterator[Verdict]:
    """How little it takes, whether that can be believed, and what a defence gains."""
    from assay.tasks.attacks.page import verdict
    from assay.tasks.defenses.page import verdict as of_the_defences

    yield from (*verdict(findings), *of_the_defences(findings))


def challenge_followed(findings: FindingIndex) -> Iterator[Headline]:
    """How right subjects are under attack, and what defences gain."""
    from assay.tasks.attacks.page import followed as of_attacks
    from assay.tasks.defenses.page import followed as of_defences

    yield from of_attacks(findings)
    yield from of_defences(findings)


def corrupt(ground: Ground) -> Flips:
    """Count the flips along sequences of ever more perturbed images."""
    from assay.flows.audits.images_flow import corrupt

    return corrupt(ground)


def flips_per_sample(ground: Ground, flips: Flips) -> Iterator[Artifact[SampleHardness]]:
    """How often the answer flips, of the subjects themselves."""
    from assay.tasks.hardness.task import find_hardness

    for subject in ground.pipeline.subjects:
        if flips.corrupted is not None and subject.network is not None:
            yield find_hardness(flips.corrupted.flips, "flips", subject.name)


def corruptions_page(_ground: Ground, flips: Flips, findings: FindingIndex) -> Iterator[Part]:
    """How often predictions flip."""
    from assay.infra.stages.partitions import collect
    from assay.tasks.corruptions.page import page

    if flips.corrupted is not None:
        yield page(findings, collect(flips.corrupted.images, None))


def corruptions_verdict(findings: FindingIndex) -> Iterator[Verdict]:
    """Whether cameras and weather make a subject flip."""
    from assay.tasks.corruptions.page import verdict

    yield from verdict(findings)


def corruptions_followed(findings: FindingIndex) -> Iterator[Headline]:
    """How often predictions flip."""
    from assay.tasks.corruptions.page import followed

    yield from followed(findings)


def look(ground: Ground) -> Insides:
    """Look inside image subjects."""
    from assay.flows.audits.images_inside_flow import look

    return look(ground)


def inside_page(ground: Ground, insides: Insides, findings: FindingIndex) -> Iterator[Part]:
    """What was seen inside the subjects."""
    from assay.data.schemas import class_names
    from assay.flows.audits.data import Data
    from assay.infra.stages.partitions import collect
    from assay.tasks.diagnostics.page import InsideSubject, page

    classes = class_names(collect(ground.of(Data).classes, None))
    seen = [
        InsideSubject(
            name,
            classes,
            collect(one.pictures, None),
            collect(one.points, None),
            [collect(counts, None) for counts in one.counts],
        )
        for name, one in insides.subjects.items()
    ]
    if seen:
        yield page(findings, seen)


def certify(ground: Ground) -> Certificates:
    """Certify image subjects by randomised smoothing."""
    from assay.flows.audits.images_inside_flow import certify

    return certify(ground)


def certificates_page(ground: Ground, certificates: Certificates, findings: FindingIndex) -> Iterator[Part]:
    """How far subjects are certified."""
    from assay.infra.stages.partitions import collect
    from assay.tasks.defenses.smoothing_page import page

    settings = ground.pipeline.asked(Smoothing)
    if certificates.certified and settings is not None:
        tables = {key: collect(one, None) for key, one in certificates.certified.items()}
        yield page(findings, tables, settings.alpha)


def challenge_outcomes(ground: Ground, result: Robustness) -> Iterator[Outcomes]:
    """Where what single samples add to its findings lies."""
    from assay.flows.audits.images_flow import outcomes_under_attack as declared

    yield from declared(ground, result)


def challenge_sampled(outcomes: Outcomes, tables: Tables, of: str, group: str) -> Sampled | None:
    """What single samples add to one of its findings."""
    from assay.flows.audits.images_flow import sampled_attacks as read

    return read(outcomes, tables, of, group)


def corruption_outcomes(ground: Ground, result: Flips) -> Iterator[Outcomes]:
    """Where what single samples add to its findings lies."""
    from assay.flows.audits.images_flow import outcomes_of_corruptions as declared

    yield from declared(ground, result)


def corruption_sampled(outcomes: Outcomes, tables: Tables, of: str, group: str) -> Sampled | None:
    """What single samples add to one of its findings."""
    from assay.flows.audits.images_flow import sampled_corruptions as read

    return read(outcomes, tables, of, group)


IMAGES = AuditKind(
    "attacks",
    sees_images,
    challenge,
    stands_on=("data", "subjects"),
    measures=(
        Measured("attack", attacks.METRICS, ("attacks",), gate=challenge_clashes.attack_gate),
        Measured("defense", defenses.METRICS, ("defenses", "smoothing")),
    ),
    clashes=challenge_clashes.clashes,
    hardness=smallest_eps,
    page=challenge_page,
    verdict=challenge_verdict,
    followed=challenge_followed,
    outcomes=challenge_outcomes,
    sampled=challenge_sampled,
)
CORRUPTIONS = AuditKind(
    "corruptions",
    lambda pipeline: pipeline.asked(Corruptions) is not None and sees_images(pipeline),
    corrupt,
    keys=(
        Key(
            "corruptions",
            Corruptions,
            "Sequences of perturbed images along which a prediction should not flip.",
            "{severities: [1, 3, 5]}",
        ),
    ),
    stands_on=("subjects", "attacks"),
    measures=(Measured("corruption", corruptions.METRICS, ("corruptions",)),),
    clashes=corruption_clashes,
    hardness=flips_per_sample,
    page=corruptions_page,
    verdict=corruptions_verdict,
    followed=corruptions_followed,
    outcomes=corruption_outcomes,
    sampled=corruption_sampled,
)
DIAGNOSTICS = AuditKind(
    "diagnostics",
    lambda pipeline: pipeline.asked(Diagnostics) is not None and sees_images(pipeline),
    look,
    keys=(
        Key(
            "diagnostics",
            Diagnostics,
            "What is looked at inside image subjects: maps, layers, labels named together; `{}` takes every default.",
            "{attacks: [pgd], eps: 0.1}",
        ),
    ),
    stands_on=("data", "subjects", "attacks"),
    measures=(Measured("diagnostics", diagnostics.METRICS, ("diagnostics",)),),
    clashes=diagnostics_clashes,
    page=inside_page,
)
SMOOTHING = AuditKind(
    "smoothing",
    lambda pipeline: pipeline.asked(Smoothing) is not None and sees_images(pipeline),
    certify,
    keys=(
        Key(
            "smoothing",
            Smoothing,
            "How far image subjects can be certified in L2, by randomised smoothing; `{}` takes every default.",
            "{sigma: 0.25}",
        ),
    ),
    stands_on=("subjects", "attacks"),
    clashes=smoothing_clashes,
    page=certificates_page,
)
