"""What is said of chance."""

from __future__ import annotations

from dataclasses import replace

from assay.tasks.attacks.chance.flips import NO_MORE
from assay.tasks.attacks.chance.page import by_chance, put_otherwise
from assay.tasks.statistics.findings import Finding, FindingIndex


def test_what_is_not_shown_is_not_called_chance_beside_an_interval_without_0() -> None:
    asked = [
        Finding("attack.flips_by_chance", "nothing", subject="m", value=0.1, low=0.05, high=0.15, n=99, unit="share"),
        Finding("attack.depends", "orbit", subject="m", value=0.2, low=0.1, high=0.3, n=99, unit="share"),
        Finding("attack.above_chance", "orbit", subject="m", value=0.095, low=0.017, high=0.173, unit="share"),
    ]
    findings = FindingIndex([*asked[:2], replace(asked[2], verdict=NO_MORE)])
    (sentence,), (otherwise,) = by_chance(findings), put_otherwise(findings)
    assert sentence.endswith(" of its answers. No attack is shown to change more.")
    assert "; beyond what m changes by itself 9.5" in otherwise
    assert otherwise.endswith(": not shown to be more than chance.")
