"""Services as a kind of audit: how often the models behind HTTP were asked in this run, and what that cost; and of
those that may answer otherwise when they are asked again, how often they do, as texts are and attacked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from assay.flows.audits.challenge_clashes import attack_choice
from assay.flows.kind import (
    AuditKind,
    AuditRequest,
    Clash,
    Ground,
    Measured,
    Measurements,
    MissingThing,
    Written,
    as_dict,
    as_list,
    each_subject,
    missing_if_fails,
    of_type,
    placed_subjects,
)
from assay.flows.yaml_document import Value
from assay.infra.stages.branches import subflow
from assay.infra.user_code.references import content_at
from assay.tasks.attacks.choice import TextAttackChoice
from assay.tasks.attacks.settings import ImageAttack
from assay.tasks.attacks.table import TEXT_ATTACKS
from assay.tasks.attacks.texts.settings import QuestionAttack
from assay.tasks.labeling.settings import Labeling, WrittenRule, WrittenRules
from assay.tasks.statistics.metrics import metrics_of
from assay.tasks.subjects.addresses.chat import PLACE, PLACES, Message, Prompt, form_at, read_prompt, with_prompt
from assay.tasks.subjects.addresses.endpoint import asking_at, counted_as, require_answer
from assay.tasks.subjects.addresses.given import Asking, GivenModel
from assay.tasks.subjects.addresses.services import asked_services, is_service, service_findings, withholds
from assay.tasks.subjects.settings import WAYS

if TYPE_CHECKING:
    from assay.data.schemas import Findings, Predictions, Samples
    from assay.flows.audits.subjects_flow import Examined
    from assay.flows.yaml_document import Where
    from assay.infra.stages.runs import Run
    from assay.infra.storage.artifacts import Artifact
    from assay.tasks.reporting.parts import Part
    from assay.tasks.statistics.findings import Finding, FindingIndex
    from assay.tasks.subjects.resolved import ResolvedSubject


def asked(pipeline: AuditRequest) -> bool:
    """Whether a subject is a service, or written rules may ask one."""
    labeling = pipeline.asked(Labeling)
    return bool(asked_services(pipeline.subjects)) or (labeling is not None and bool(labeling.file or labeling.asking))


def prompted_rules(pipeline: AuditRequest, folder: Path) -> list[tuple[WrittenRule, Asking, str]]:
    """The rules with a prompt that are written in the pipeline, or in the file that it names; of each how it asks, and
    whom."""
    from assay.flows.audits.curation_flow import read_rules

    labeling = pipeline.asked(Labeling)
    if labeling is None:
        return []
    rules: WrittenRules = labeling if labeling.file is None else read_rules(folder / labeling.file)
    url = str((rules.asking or {}).get("url"))
    return [(rule, rules.asking_of(rule), url) for rule in rules.rules if rule.prompt is not None]


def services_of(pipeline: AuditRequest, folder: Path) -> dict[str, tuple[str, Asking]]:
    """Whom subjects and rules with a prompt ask, each as it is counted."""
    by_rules = {counted_as(url, asking): (url, asking) for _, asking, url in prompted_rules(pipeline, folder)}
    return {**asked_services(pipeline.subjects), **by_rules}


@subflow("services")
def ask_again(ground: Ground) -> Measurements:
    """Ask every service that has `repeats` again, about the texts or pictures as they are and as attacks left
    them; how often services are asked is another number in every run, and nothing to keep."""
    from assay.flows.audits.subjects_flow import Examination

    examination = ground.maybe(Examination)
    findings: list[Artifact[Findings]] = []
    if examination is None:
        return Measurements()
    for model in (*examination.of("classifier"), *examination.of("network")):
        again = answers_about(examination.evaluation, model, model.resolved.asked_again())
        if again:
            findings += _above_chance(ground, examination.evaluation, model, again)
        if model.resolved.settings.kind == "classifier":
            findings += _put_otherwise(ground, examination.evaluation, model, again)
    return Measurements(findings)


def answers_about(
    samples: Artifact[Samples], model: Examined, variants: Iterable[ResolvedSubject]
) -> list[Artifact[Predictions]]:
    """What each variant of the model's subject answers about samples."""
    return [model.model._replace(resolved=variant).answers(samples) for variant in variants]


def _put_otherwise(
    ground: Ground, samples: Artifact[Samples], model: Examined, again: Sequence[Artifact[Predictions]]
) -> Iterator[Artifact[Findings]]:
    """How far answers depend on how the question is put, by each attack that puts it otherwise."""
    from assay.tasks.attacks.chance.task import measure_variants
    from assay.tasks.attacks.texts.task import limit_texts

    subject, significance = model.resolved, ground.pipeline.statistics.significance
    given = subject.code
    if not isinstance(given, GivenModel) or not given.asking.in_words:
        return
    for attack in ground.pipeline.attacks:
        if isinstance(attack, QuestionAttack):
            texts = samples if attack.texts is None else limit_texts(samples, attack.texts)
            variants = dict(variants_of(attack, read_prompt(given.asking, given.content), ground.folder))
            others = (subject.asked_as(with_prompt(given, each), name) for name, each in variants.items())
            varied = answers_about(texts, model, others)
            yield measure_variants(
                texts, varied, model.predictions, again, samples, attack.called, model.name, significance
            )


def variants_of(attack: QuestionAttack, prompt: Prompt, folder: Path) -> Iterable[tuple[str, Sequence[Message]]]:
    """The messages of each variant of the prompt, by name; prompts that the attack names lie in the folder."""
    variants = TEXT_ATTACKS.of(attack).variants
    assert variants is not None
    return variants(attack, prompt, lambda file: prompt_in(prompt.asking, file, folder))


def prompt_in(asking: Asking, file: str, folder: Path, place: str = PLACE) -> Prompt:
    """The prompt that lies in a file of the folder, with the place of the sample."""
    return read_prompt(asking.model_copy(update={"prompt": file}), content_at(file, folder, "The prompt"), place)


def _above_chance(
    ground: Ground, samples: Artifact[Samples], model: Examined, again: Sequence[Artifact[Predictions]]
) -> Iterator[Artifact[Findings]]:
    """How often answers change by themselves, and how much oftener under each attack."""
    from assay.flows.audits.images_flow import Flips, Robustness
    from assay.flows.audits.texts_flow import WordAudit
    from assay.tasks.attacks.chance.task import (
        measure_above_chance,
        measure_chance,
        measure_corruptions_above_chance,
        take_attacked_images,
        take_attacked_texts,
    )

    corrupted = (ground.maybe(Flips) or Flips()).corrupted
    yield measure_chance(model.predictions, again, samples, model.name)
    significance = ground.pipeline.statistics.significance
    if corrupted is not None and model.resolved.settings.kind == "network":
        flips = corrupted.flips
        yield measure_corruptions_above_chance(flips, model.predictions, again, samples, model.name, significance)
    changed: dict[str, tuple[Artifact[Samples], Sequence[Artifact[Predictions]]]] = {}
    for called, attack in (ground.maybe(WordAudit) or WordAudit()).attacked.get(model.name, {}).items():
        if attack.attacked is not None:  # it searched: what it found is asked about afresh
            texts = take_attacked_texts(attack.attacked, model.resolved.settings.text)
            changed[called] = texts, answers_about(texts, model, model.resolved.asked_again())
        elif attack.noisy is not None and attack.answers is not None:
            changed[called] = attack.noisy, [attack.answers]
    norms = {attack.called: attack.norm for attack in of_type(ground.pipeline.attacks, ImageAttack)}
    for called, shown in (ground.maybe(Robustness) or Robustness()).attacked.get(model.name, {}).items():
        images = take_attacked_images(shown.audited.images, norms[called])
        changed[called] = images, answers_about(images, model, model.resolved.asked_again())
    for called, (asked, answers) in changed.items():
        yield measure_above_chance(asked, answers, model.predictions, again, samples, called, model.name, significance)


def count_requests(ground: Ground, services: Measurements, run: Run) -> tuple[Measurements, Sequence[Finding]]:
    """How often they were asked, once everybody has."""
    pipeline = ground.pipeline
    return services, service_findings(services_of(pipeline, ground.folder), run.id, run.store, pipeline.masked)


def page(ground: Ground, _services: Measurements, findings: FindingIndex) -> Iterator[Part]:
    """Questions, requests and cost, and what answers in words cannot tell."""
    from assay.tasks.attacks.chance.page import by_chance, put_otherwise
    from assay.tasks.subjects.addresses.services import services_page

    if findings.select("services"):
        withheld = [subject.name for subject in ground.pipeline.subjects if withholds(subject)]
        yield services_page(findings, withheld, by_chance(findings), put_otherwise(findings))


def gate(pipeline: Written, named: dict[str, Value], where: Where) -> Iterator[Clash]:
    """Requests are counted where a subject is a service, and have a cost where they have a price."""
    services = [each for _, each in each_subject(pipeline) if any(is_service(str(each.get(way))) for way in WAYS)]
    if not services:
        labeling = as_dict(pipeline.get("labeling"))
        if not (labeling.get("asking") or str(labeling.get("functions")).endswith((".yaml", ".yml"))):
            yield Clash((*where, "finding"), "nothing will measure it: no subject is a service (`model: https://…`)")
        return
    priced = any(as_dict(subject.get("asking")).get("price") for subject in services)
    if named.get("finding") == "services.cost" and not priced:
        yield Clash((*where, "finding"), "nothing will measure it: say the `price` of a request under `asking`")


def clashes(pipeline: Written) -> Iterator[Clash]:
    """The trust oracle explains probabilities, which answers in words have only with `logprobs`; a question is put
    otherwise to a model that answers in words."""
    some_in_words = False
    for where, subject in each_subject(pipeline):
        asking, named = as_dict(subject.get("asking")), next((subject[way] for way in WAYS if subject.get(way)), "")
        in_words = asking.get("form") in ("chat", "completions") or form_at(str(named)) != "auto"
        some_in_words |= in_words and "classifier" in subject
        if in_words and not asking.get("logprobs") and pipeline.get("trust") is not None:
            why = "answers in words, and `trust` explains probabilities: set `logprobs: true`"
            yield Clash((*where, "asking"), why)
    for position, attack in enumerate(as_list(pipeline.get("attacks"))):
        choice = attack_choice(pipeline, attack)
        if isinstance(choice, TextAttackChoice) and choice.variants and not some_in_words:
            yield Clash(
                ("attacks", position),
                f"{choice.word} puts a question otherwise, and no subject answers in words: name one by its address "
                "(…/v1/chat/completions), or leave it out",
            )


def missing(pipeline: AuditRequest, folder: Path) -> Iterator[MissingThing]:
    """Prompts that an attack names, and in a subject's prompt what an attack changes."""
    asked = [each.asking for each in pipeline.subjects if each.kind == "classifier" and each.asking is not None]
    for position, attack in enumerate(pipeline.attacks):
        if isinstance(attack, QuestionAttack):
            for asking in (asking for asking in asked if asking.prompt):
                yield from missing_if_fails(("attacks", position), {}, partial(_put, attack, asking, folder))


def _put(attack: QuestionAttack, asking: Asking, folder: Path) -> object:
    return list(variants_of(attack, prompt_in(asking, str(asking.prompt), folder), folder))


def silent(pipeline: AuditRequest, folder: Path, retries: int | None = None) -> Iterator[MissingThing]:
    """The models in words that give no answer to a question about nothing, asked again as often as they say or so many
    `retries`: their service is not there or lets nobody in, or has no such model. Where a `version` stands for the
    answers, nobody is asked."""
    for where, subject in placed_subjects(pipeline):
        if subject.asking is not None and subject.asking.prompt is not None and subject.stands_on.version is None:
            asking, place = asking_at(subject.named, subject.asking), PLACES[subject.kind]
            prompt = prompt_in(asking, str(asking.prompt), folder, place)
            yield from missing_if_fails(where, {}, partial(require_answer, subject.named, prompt, place, retries))
    for rule, asking, url in prompted_rules(pipeline, folder)[:1]:
        prompt = read_prompt(asking, str(rule.prompt).encode())
        yield from missing_if_fails(("labeling",), {}, partial(require_answer, url, prompt, PLACE, retries))


SERVICES = AuditKind(
    "services",
    asked,
    ask_again,
    after=("subjects", "texts", "attacks", "corruptions"),
    measures=(Measured("services", metrics_of("services"), ("subject", "subjects"), gate=gate),),
    clashes=clashes,
    missing=missing,
    afterwards=count_requests,
    background=page,
)
