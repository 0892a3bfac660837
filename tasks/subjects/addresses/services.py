"""What a run asked of services: questions, requests, retries and cost as findings, and the report's part about
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from assay.infra.storage.store import Store, asked_in
from assay.tasks.reporting.numerals import percent, plain, plural
from assay.tasks.reporting.parts import Paragraph, Part
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.proportions import share
from assay.tasks.subjects.addresses.chat import NO_ANSWERS, REFUSED, TRUNCATED, UNPARSED
from assay.tasks.subjects.addresses.client import shown
from assay.tasks.subjects.addresses.endpoint import EXAMPLE, TOKENS, VERSION, asking_at, counted_as, counts_of
from assay.tasks.subjects.addresses.given import Asking
from assay.tasks.subjects.addresses.table import address_of
from assay.tasks.subjects.settings import Subject

Services = Mapping[str, tuple[str, Asking]]
"""Each as it is counted, with its address and how it is asked."""


def is_service(written: str) -> bool:
    """Whether a subject that is named so is a service.

    >>> is_service("https://models/spam"), is_service("spam.onnx")
    (True, False)
    """
    address = address_of(written)
    return address is not None and address.word == "endpoint"


def withholds(subject: Subject) -> bool:
    """Whether a subject answers in words without log probabilities."""
    asking = asking_at(subject.named, subject.asking) if is_service(subject.named) else Asking()
    return asking.in_words and not asking.logprobs


def asked_services(subjects: Sequence[Subject]) -> Services:
    """The services that are asked for these subjects, each with how it is asked."""
    ways = [(each.named, each.asking or Asking()) for each in reversed(subjects) if is_service(each.named)]
    return {counted_as(url, asking): (url, asking) for url, asking in ways}  # the first one says how


def service_findings(services: Services, run: str, store: Store, masked: bool) -> list[Finding]:
    """`services.questions` of each service, the share of them that the store had `.stored`, `.requests` and how many of
    them were `.retries`; their `.cost` where a request has a price. In words also `answers_in_words`; `masked` without
    examples of them."""
    findings: list[Finding] = []
    for url, asking in services.values():
        counts, of = asked_in(store.folder, counts_of(run, url, asking)), counted_as(shown(url), asking)
        questions = counts["questions"]
        values: dict[str, float | None] = {name: counts[name] for name in ("questions", "requests", "retries")}
        values |= {"stored": counts["stored"] / questions if questions else None, "cost": asking.spent(counts)}
        findings += [
            Finding(f"services.{name}", of=of, value=value, n=questions, unit="share" if name == "stored" else "")
            for name, value in values.items()
            if value is not None
        ]
        if asking_at(url, asking).in_words:
            findings += answers_in_words(counts, of, masked)
    return findings


def answers_in_words(counts: Mapping[str, int], of: str, masked: bool) -> list[Finding]:
    """Of the answers in words the shares that are `services.unparsed`, `.refused` and `.truncated`, each with what was
    answered most often so; the `.tokens` sent and received; and how many `.versions` answered, by name.

    >>> counts = Counter({"questions": 50, "refused": 2, "refused example Sorry": 2, "version m fp_1": 48})
    >>> [(each.metric, each.value, each.verdict) for each in answers_in_words(counts, "it", False)][1:2]
    [('services.refused', 0.04, 'such as “Sorry”')]
    """
    findings = []
    for why in NO_ANSWERS:
        said = Counter({name.partition(EXAMPLE)[2]: n for name, n in counts.items() if name.startswith(why + EXAMPLE)})
        example = "" if masked or not said else f"such as “{said.most_common(1)[0][0]}”"
        findings.append(replace(share(f"services.{why}", counts[why], counts["questions"], of=of), verdict=example))
    named = sorted(name.removeprefix(VERSION) for name in counts if name.startswith(VERSION))
    versions = Finding("services.versions", of=of, value=len(named), n=counts["questions"], verdict=", ".join(named))
    tokens = [
        Finding("services.tokens", of=of, group=group, value=counts[name], n=counts["questions"], unit="tokens")
        for group, name in zip(("sent", "received"), TOKENS, strict=True)
    ]
    return [*findings, versions, *tokens]


_NOTE = (
    "A question is a sample in one state: attacked or corrupted it is another. Requests are batches of them, and those "
    "that hold stored answers against today's; what a worker asked in a call in which it was killed is not counted."
)


def services_page(
    findings: FindingIndex, withheld: Sequence[str] = (), by_chance: Iterable[str] = (), otherwise: Iterable[str] = ()
) -> Part:
    """The part of the report about services, from the findings `services.*`; of the subjects `withheld` there are no
    probabilities. The sentences on what changes `by_chance`, and with the question put `otherwise`, are given."""
    names = findings.distinct("of", "services.requests")
    requests, cost = (
        sum(finding.value or 0 for finding in findings.select(f"services.{metric}")) for metric in ("requests", "cost")
    )
    paid = f", which cost {plain(cost)}" if findings.select("services.cost") else ""
    sentence = f"{plural(len(names), 'service')} got {plural(int(requests), 'request')} in this run{paid}."
    blocks = list(map(Paragraph, (*otherwise, *_in_words(findings), _NOTE)))
    if withheld:
        without = "answers in words without log probabilities, so nothing is said of AUC, calibration and confidence."
        blocks.insert(0, Paragraph(f"{' and '.join(withheld)} {without}"))
    return Part("Services that were asked", " ".join((sentence, *by_chance)), blocks, "services", findings="services.")


_WHY = {UNPARSED: "name no class", REFUSED: "are refusals", TRUNCATED: "were cut short"}


def _in_words(findings: FindingIndex) -> Iterator[str]:
    """Of services that answer in words: which answers were none, and whether one and the same model answered."""
    for why, named in _WHY.items():
        for finding in findings.select(f"services.{why}"):
            if finding.value:
                example = f", {finding.verdict}" if finding.verdict else ""
                counted = f"{percent(finding.value)} of the answers of {finding.of} {named}"
                yield f"{counted}{example}; they are counted as wrong."
    for finding in findings.select("services.versions"):
        if (finding.value or 0) > 1:
            yield f"{finding.of} answered as {int(finding.value or 0)} versions in one run: {finding.verdict}."
