"""From tables of shifted windows to tests of independence, and to how the error grows with the shift."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.errors import InputError, RunError
from assay.tasks.overfitting.records import Record, Role, fingerprint, samples_fingerprint
from assay.tasks.overfitting.settings import Bound, Generator
from assay.tasks.overfitting.testing import basic_p, n_model_test
from assay.tasks.overfitting.translations import offsets_by_distance, span
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import share

Values = npt.NDArray[np.float64]
_WAYS_OUT = {"fresh": "`fresh`", "training": "the training samples (`training: false`)"}
_Z = 1.96  # of the normal 95 % interval around a mean over samples


@dataclass(frozen=True)
class Looked:
    """What shifting the windows of one set of samples did to one model."""

    ids: tuple[str, ...]
    gold: tuple[int, ...]
    wrong: npt.NDArray[np.bool_]  # [n]
    attackable: npt.NDArray[np.bool_]  # [n]
    wrong_at: npt.NDArray[np.bool_]  # [n, (2ε + 1)²]
    looks: npt.NDArray[np.int64]  # [n]
    adversarial: Mapping[Generator, Values]  # [n] each
    weighted: Mapping[Generator, Values]  # [n] each

    def differences(self, generator: Generator) -> Values:
        """T_i = L(f, g(X_i)) h(g(X_i)) − L(f, X_i) [n]."""
        return self.weighted[generator] - self.wrong

    @property
    def eps(self) -> int:
        """How far windows were shifted."""
        return (isqrt(self.wrong_at.shape[1]) - 1) // 2


def require_known(known: int, role: str) -> None:
    """Nothing, or that no sample of a set has a class that an answer could be held against."""
    if not known:
        raise InputError(
            f"Not one of the {role} samples has a known class, so there is nothing to test on them: look at "
            f"`source.label`, or leave {_WAYS_OUT.get(role, '`overfitting.translations`')} out."
        )


def looked_from(table: pa.Table, generators: Sequence[Generator], role: str = "test") -> Looked:
    """What a table of `ShiftedWindows` says of a set of samples, by id: whatever the order in which they came."""
    require_known(table.num_rows, role)
    table = table.sort_by("id")
    parts = {generator: table.filter(pc.equal(table["generator"], generator)) for generator in generators}
    first = parts[generators[0]]
    return Looked(
        tuple(first["id"].to_pylist()),
        tuple(first["gold"].to_pylist()),
        first["wrong"].to_numpy(),
        first["attackable"].to_numpy(),
        np.array(first["wrong_at"].to_pylist(), bool).reshape(first.num_rows, -1),
        first["looks"].to_numpy().astype(np.int64),
        {generator: part["adversarial"].to_numpy() for generator, part in parts.items()},
        {generator: part["weighted"].to_numpy() for generator, part in parts.items()},
    )


def window_records(
    sets: Mapping[str, Sequence[Looked]], name: str, generators: Sequence[Generator], bound: Bound, alpha: float
) -> list[Record]:
    """One test per generator and set of samples, over all models that were tested on it (section 3.3)."""
    return [
        _record(looked, name, generator, cast(Role, role), bound, alpha)
        for role, looked in sets.items()
        for generator in generators
    ]


def _record(
    looked: Sequence[Looked], name: str, generator: Generator, role: Role, bound: Bound, alpha: float
) -> Record:
    first = looked[0]
    if any(one.ids != first.ids for one in looked):
        raise RunError(f"The models of {name} were not tested on the same samples; run again with --fresh.")
    values = np.stack([one.differences(generator) for one in looked])  # [N, n]
    errors = np.mean([one.wrong for one in looked], axis=0)
    weighted = np.mean([one.weighted[generator] for one in looked], axis=0)
    originals = np.concatenate([one.weighted[generator][one.wrong] for one in looked])
    fooled = [one.adversarial[generator][one.attackable].sum() for one in looked]
    shared = [one.weighted[generator][one.attackable].sum() for one in looked]
    return Record(
        name,
        generator,
        n_model_test(values, span(generator), bound, alpha),
        error=float(errors.mean()),
        estimate=float(weighted.mean()),
        test_set=samples_fingerprint(first.ids, first.gold),
        model=fingerprint(values.mean(axis=0)),
        role=role,
        models=len(looked),
        bound=bound,
        adversarial_error=float(np.mean([one.adversarial[generator] for one in looked])),
        h_original=float(originals.mean()) if len(originals) else None,
        h_adversarial=float(sum(shared) / sum(fooled)) if sum(fooled) else None,
        moved=round(float(np.mean([one.attackable.sum() for one in looked]))),
        basic_p=basic_p(errors, weighted),
    )


def window_findings(
    every: Mapping[str, Sequence[Looked]], name: str, generators: Sequence[Generator], bound: Bound, alpha: float
) -> list[Finding]:
    """What is beside the tests: the error by offset, how many can be attacked, what it cost, and each seed's own p.

    `overfitting.error_by_offset` (of: the set of samples; group: `offset=1`, how far at most), `overfitting.attackable`
    and `overfitting.passes` per image (of: the set), `overfitting.density` (of: the generator; group: `original`,
    `adversarial`), `overfitting.seed_p_value`, `overfitting.seed_gap` and `overfitting.seed_error` (group: `seed=1`).
    """
    tested, sets = every["test"], {role: models[0] for role, models in every.items()}
    findings = [one for role, looked in sets.items() for one in _by_offset(looked, role, name)]
    for role, looked in sets.items():
        passes, whole = looked.looks.astype(float), (6 * looked.eps + 1) ** 2
        of_whole = f"of {whole} on the whole lattice"
        n, lost = len(looked.ids), int(looked.attackable.sum())
        findings.append(share("overfitting.attackable", lost, n, of=role, subject=name))
        findings.append(
            _mean("overfitting.passes", passes, of=role, subject=name, verdict=of_whole, unit="passes per image")
        )
    findings += [one for generator in generators for one in _densities(tested, generator, name)]
    if len(tested) > 1:
        for number, model in enumerate(tested):
            findings += _seed(model, number, name, generators, bound, alpha)
    return findings


def _by_offset(looked: Looked, role: str, name: str) -> Iterator[Finding]:
    n = len(looked.ids)
    yield share("overfitting.error_by_offset", int(looked.wrong.sum()), n, of=role, group="offset=0", subject=name)
    for distance, places in enumerate(offsets_by_distance(looked.eps)):
        if distance:
            errors = looked.wrong_at[:, places].mean(axis=1)
            group = f"offset={distance}"
            yield _mean("overfitting.error_by_offset", errors, of=role, group=group, subject=name, unit="share")


def _densities(tested: Sequence[Looked], generator: Generator, name: str) -> Iterator[Finding]:
    """The mean of h over samples that are wrong already, and over those that a chosen shift makes wrong.

    Under a random generator the latter is the mean of L(f, g) h(g) over that of L(f, g), all draws together.
    """
    originals = np.concatenate([one.weighted[generator][one.wrong] for one in tested])
    yield _mean("overfitting.density", originals, of=generator, group="original", subject=name)
    fooled = np.concatenate([one.adversarial[generator][one.attackable] for one in tested])
    shared = np.concatenate([one.weighted[generator][one.attackable] for one in tested])
    value = float(shared.sum() / fooled.sum()) if len(fooled) else None
    yield Finding("overfitting.density", generator, "adversarial", name, value=value, n=len(fooled))


def _seed(
    looked: Looked, number: int, name: str, generators: Sequence[Generator], bound: Bound, alpha: float
) -> Iterator[Finding]:
    group, n = f"seed={number}", len(looked.ids)
    yield share("overfitting.seed_error", int(looked.wrong.sum()), n, of="test", group=group, subject=name)
    for generator in generators:
        tested = n_model_test(looked.differences(generator)[None], span(generator), bound, alpha)
        yield Finding("overfitting.seed_p_value", generator, group, name, value=tested.p, n=n)
        yield Finding("overfitting.seed_gap", generator, group, name, value=tested.mean, n=n)


def _mean(
    metric: str, values: Values, *, of: str, subject: str, group: str = "", verdict: str = "", unit: str = ""
) -> Finding:
    """A mean over samples with its normal interval, which takes a sample's shifts for the one thing that they are."""
    n, mean = len(values), float(values.mean()) if len(values) else None
    half = _Z * float(values.std(ddof=1)) / n**0.5 if n > 1 else None
    low, high = (None, None) if mean is None or half is None else (max(0.0, mean - half), mean + half)
    return Finding(metric, of, group, subject, mean, low, high, n, verdict=verdict, unit=unit)
