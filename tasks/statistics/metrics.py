"""What a room can measure (names of findings, their units, and which way is better), and what a control is called."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

from ruamel.yaml import YAML

Better = Literal["more", "less"]
_LISTED: dict[str, dict[str, dict[str, Any]]] = YAML(typ="safe").load(
    resources.files("assay.data").joinpath("metrics.yaml").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class Metric:
    """One kind of finding, `stage.metric`, as it is declared once: gates, units, columns and trends follow from it."""

    name: str
    unit: str = ""
    """Empty where it has none; a `share` is written in per cent."""
    better: Better | None = None
    """Which way is better, if any."""
    followed: bool | str = False
    """Whether its findings are followed over the nights; a word, or the empty one, names the `of` whose alone are."""
    title: str = ""
    """What it is called at the head of a column and over a trend."""

    @property
    def in_percent(self) -> bool:
        """Whether it is written in per cent."""
        return self.unit == "share"


def metric(
    name: str, *, unit: str = "", better: Better | None = None, followed: bool | str = False, title: str = ""
) -> Metric:
    """A metric of a room; its title is made of its name where none is given.

    >>> metric("corruption.flip_probability", unit="share", better="less").title
    'Flip probability'
    """
    words = name.partition(".")[2].replace("_", " ")
    return Metric(name, unit, better, followed, title or words[:1].upper() + words[1:])


@cache
def metrics_of(*stages: str) -> tuple[Metric, ...]:
    """What is measured under these stages, as data/metrics.yaml lists it.

    >>> [metric.title for metric in metrics_of("pruning")]
    ['Constant', 'Rules kept']
    """
    return tuple(metric(f"{stage}.{name}", **about) for stage in stages for name, about in _LISTED[stage].items())


def metric_named(metrics: Iterable[Metric], name: str) -> Metric:
    """The metric of that name; one without a unit where it is not declared."""
    return next((metric for metric in metrics if metric.name == name), metric(name))


_ENDING = "-control"


def control_of(name: str) -> str:
    """The name of the control of a defence, or of the model that it makes.

    >>> control_of("on-swap")
    'on-swap-control'
    """
    return f"{name}{_ENDING}"


def controlled_by(name: str, names: Collection[str]) -> str | None:
    """The one of `names` that this is the control of; None where it is none.

    >>> controlled_by("on-swap-control", ["on-swap", "on-swap-control"]), controlled_by("mine-control", ["on-swap"])
    ('on-swap', None)
    """
    tested = name.removesuffix(_ENDING)
    return tested if tested != name and tested in names else None
