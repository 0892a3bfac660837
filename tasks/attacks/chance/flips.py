"""What a model's answers change by while nothing changes: the noise floor under every attack.

A model that draws its answers flips some of them when it is merely asked again. Each text is asked several times, as it
is and attacked; the text is what is independent, its answers are not. An attack searches, and among many draws it finds
a flip that was there by chance: so what it found is asked again, too, and only how often those fresh answers change
counts, less how often the unchanged text's do (paired, by text).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.arrays import Codes, Floats
from assay.data.images import COLUMNS
from assay.tasks.attacks.settings import Norm, eps_name
from assay.tasks.attacks.texts.measures import SKIPPED
from assay.tasks.attacks.texts.noise import NOISE, ORIGINAL, SEVERITY, group_of
from assay.tasks.statistics.classification import Groups
from assay.tasks.statistics.clusters import codes_of, critical, half_width, kish, share_by, two_sided
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import NO_SPREAD, unvaried

CHANCE, DEPENDS, ABOVE = "attack.flips_by_chance", "attack.depends", "attack.above_chance"
MORE, NO_MORE = "more than chance", "no more than chance"
"""The verdicts of `attack.above_chance`: whether something does what asking again would not."""


def changed_shares(first: Codes, again: Sequence[Codes]) -> Floats:
    """Per text, in what share of the answers when asked again it gets another one than at `first`, [n].

    >>> changed_shares(np.array([0, 1]), [np.array([0, 0]), np.array([0, 1])]).tolist()
    [0.0, 0.5]
    """
    return np.asarray(np.mean([answers != first for answers in again], axis=0), dtype=np.float64)


def mean_share(about: Finding, shares: Floats, groups: Codes | None) -> Finding:
    """The mean of what texts came to, with Student's interval and test over the texts, or over as many of their groups
    as count.

    >>> mean_share(Finding("a", ""), np.array([0.0, 1.0, 1.0, 0.0]), None).value
    0.5
    """
    n = len(shares)
    if not n:
        return replace(about, n=0, verdict="not measured")
    value = float(shares.mean())
    half, counted = half_width(shares - value, groups), n if groups is None else kish(np.bincount(codes_of(groups)))
    if not half >= NO_SPREAD:  # all alike, or of one group
        low, high = unvaried(value, counted)
        return replace(about, n=n, value=value, low=low, high=high)
    p = two_sided(value / half * critical(counted), counted)
    return replace(about, n=n, value=value, low=max(-1.0, value - half), high=min(1.0, value + half), p_value=p)


def above_chance(about: Finding, attacked: Floats, clean: Floats, groups: Codes | None, significance: float) -> Finding:
    """`attack.above_chance`: how much oftener answers change under an attack than when the same texts are asked about
    again as they are."""
    apart = mean_share(replace(about, metric=ABOVE, unit="share"), attacked - clean, groups)
    more = (apart.value or 0.0) > 0 and (apart.low or 0.0) > 0 and (apart.p_value or 0.0) <= significance
    return apart if apart.value is None else replace(apart, verdict=MORE if more else NO_MORE)


def chance_finding(first: Codes, again: Sequence[Codes], groups: Groups, subject: str) -> Finding:
    """`attack.flips_by_chance`: how often an answer changes though nothing else does."""
    floor = mean_share(Finding(CHANCE, "nothing", subject=subject, unit="share"), changed_shares(first, again), groups)
    return replace(floor, low=max(0.0, floor.low or 0.0), p_value=None)


def self_agreement(first: Codes, second: Codes, groups: Groups, subject: str) -> Finding:
    """`attack.agreement`: Cohen's κ of two answers to the same question, with its interval where texts are independent;
    not measured where all answers are one, with which chance alone agrees.

    >>> self_agreement(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), None, "it").value
    0.5
    """
    from statsmodels.stats.inter_rater import cohens_kappa

    about = Finding("attack.agreement", "nothing", subject=subject, n=len(first))
    if len({*first.tolist(), *second.tolist()}) < 2:
        return replace(about, verdict="not measured")
    table = np.zeros((int(max(first.max(), second.max())) + 1,) * 2)
    np.add.at(table, (first, second), 1.0)
    kappa = cohens_kappa(table)
    if groups is not None or kappa.kappa == 1:
        return replace(about, value=float(kappa.kappa))
    return replace(about, value=float(kappa.kappa), low=float(kappa.kappa_low), high=float(kappa.kappa_upp))


def variant_findings(
    first: Codes, again: Sequence[Codes], varied: Sequence[Codes], groups: Groups, about: Finding, significance: float
) -> Iterator[Finding]:
    """Of the same question put otherwise: `attack.depends`, the share of texts that some variant answers otherwise than
    the question as it is at `first`; and `attack.above_chance`, how much oftener variants change answers than asking
    `again` does, where that was done."""
    changed = np.any([answers != first for answers in varied], axis=0)
    yield share_by(DEPENDS, changed, groups, of=about.of, subject=about.subject)
    if again:
        yield above_chance(about, changed_shares(first, varied), changed_shares(first, again), groups, significance)


def findings_above_chance(
    asked: pa.Table,
    fresh: Sequence[Codes],
    clean: tuple[Codes, Sequence[Codes]],
    ids: Sequence[str],
    groups: Groups,
    about: Finding,
    significance: float,
) -> Iterator[Finding]:
    """`attack.above_chance` under each condition of texts that were `asked` about changed: `fresh` answers to these,
    and the first and the further answers to the `clean` texts of these ids."""
    places = {sample: place for place, sample in enumerate(ids)}
    at = np.array([places[sample] for sample in asked[ORIGINAL].to_pylist()], dtype=np.int64)
    floor, changed = changed_shares(*clean)[at], changed_shares(clean[0][at], fresh)
    conditions = list(zip(asked[NOISE].to_pylist(), asked[SEVERITY].to_pylist(), strict=True))
    for kind, severity in sorted(set(conditions)):
        under = np.array([condition == (kind, severity) for condition in conditions])
        named = replace(about, group=group_of(kind, severity))
        among = None if groups is None else groups[at[under]]
        yield above_chance(named, changed[under], floor[under], among, significance)


def corruptions_above_chance(
    flips: pa.Table, ids: pa.ChunkedArray, floor: Floats, groups: Groups, about: Finding, significance: float
) -> Iterator[Finding]:
    """`corruption.above_chance` of every perturbation and of all (`mean`): how much oftener answers change from frame
    to frame than when the same pictures, of these ids, are asked about again; `floor` is how often that is, [n].

    Two frames are two questions, so that by themselves their answers differ as often as those to one picture do.
    """
    for kind in ("mean", *sorted(flips["perturbation"].unique().to_pylist())):
        rows = flips if kind == "mean" else flips.filter(pc.equal(flips["perturbation"], kind))
        sums = rows.group_by("id", use_threads=False).aggregate([("flips", "sum"), ("comparisons", "sum")])
        at = pc.index_in(sums["id"], ids.combine_chunks()).to_numpy()
        shares = sums["flips_sum"].to_numpy() / np.maximum(sums["comparisons_sum"].to_numpy(), 1)
        among = None if groups is None else groups[at]
        above = above_chance(replace(about, of=kind, group="all"), shares, floor[at], among, significance)
        yield replace(above, metric="corruption.above_chance")


def attacked_images_as_samples(images: pa.Table, *, norm: Norm) -> pa.Table:
    """The attacked images, as samples to be asked about again, each ε a condition of its own."""
    moved = images.filter(pc.greater(images["eps"], 0.0))
    under = [eps_name(eps, norm) for eps in moved["eps"].to_pylist()]
    ids = pc.binary_join_element_wise(moved["id"], pa.array(under, pa.string()), "+")
    columns = {"id": ids, "gold": pa.nulls(len(under), pa.int16()), **{name: moved[name] for name in COLUMNS}}
    return pa.table({**columns, **_condition(moved["id"], under)})


def attacked_as_samples(attacked: pa.Table, *, text: str) -> pa.Table:
    """The attacked texts that were tried, as samples to be asked about again, under no kind of noise."""
    tried = attacked.filter(pc.not_equal(attacked["status"], SKIPPED))
    columns = {"id": tried["id"], "gold": tried["gold"], text: tried["attacked_text"]}
    return pa.table({**columns, **_condition(tried["id"], [""] * tried.num_rows)})


def _condition(ids: pa.ChunkedArray, names: Sequence[str]) -> dict[str, Any]:
    return {ORIGINAL: ids, NOISE: pa.array(names, pa.string()), SEVERITY: pa.array([0] * len(names), pa.int8())}
