"""Not of a paper: how far the claims that rest on one training move when another seed trains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from assay.flows.reproduce.paper_table import PLAIN, Line, Ours, Result, Source, UsersOwn, paper_table, share
from assay.flows.reproduce.published import OverSeeds
from assay.tasks.statistics.findings import Finding

PUBLISHED = {
    "digits": (
        "sample/digits",
        ("subject.accuracy *", "attack.accuracy worst-case eps=[48]/255", "attack.accuracy worst-case eps=0.1"),
    ),
    "digits-defended": ("sample/digits", ("defense.accuracy * clean", "defense.accuracy * eps=0.1")),
    "reviews": ("sample/reviews", ("trust.g_mean * lime", "attack.success_rate *")),
}
"""Per pipeline that is published over several seeds, its data set and which of its claims are shown."""

OF_ONES_OWN = ("subject.accuracy *", "attack.accuracy worst-case *", "defense.accuracy *", "trust.g_mean *", "ner.f1 *")


def _source(called: str, pipelines: Mapping[str, str | None], claims: Sequence[str]) -> Source:
    def lines(result: Result | None) -> list[Line]:
        if result is None:
            return []
        return [_line(called, claim) for claim in result.over_seeds() if _is_claimed(claim, claims)]

    return Source(called, pipelines, lines, extra=True)


def _is_claimed(claim: OverSeeds, claims: Sequence[str]) -> bool:
    finer = ", " in claim.group or claim.group.startswith("stratum ")
    return not finer and any(fnmatchcase(f"{claim.metric} {claim.of} {claim.group}", each) for each in claims)


def _line(called: str, claim: OverSeeds) -> Line:
    write = share() if claim.metric.endswith(("accuracy", "success_rate")) else PLAIN
    mean, spread, least, largest = (
        write(Finding(claim.metric, value=value)) for value in (claim.mean, claim.spread, claim.least, claim.largest)
    )
    ours = Ours(claim.metric, claim.of, claim.group, claim.subject, write)
    about = claim.metric.partition(".")[2].replace("_", " ")
    numbers = (ours, mean, spread, f"{least} to {largest}", str(claim.seeds))
    cells = (called, about, claim.of, claim.group, claim.subject, *numbers)
    return Line(cells, ours=True)


TABLES = (
    paper_table(
        "seeds",
        [_source(name, {name: data}, claims) for name, (data, claims) in PUBLISHED.items()],
        users_own=UsersOwn(
            lambda settings: bool(settings.get("subjects")),
            lambda called: _source(called, {}, OF_ONES_OWN),
            over_seeds=True,
        ),
    ),
)
