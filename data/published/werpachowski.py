"""What Werpachowski, György and Szepesvári, *Detecting Overfitting via Adversarial Examples*, say of their experiment.

The figures have no tables; these are the numbers of section 4. Figure numbers are those of the arXiv version.
"""

from __future__ import annotations

REJECTED = (10.0, 20.0, 30.0, 50.0)
"""ε at which the dependent model fails the test of one model with nearly all confidence (10 ≤ ε ≤ 50)."""

BASIC_MISSES = (10.0, 75.0)
"""ε at which the pairwise test rejects a single realisation, and the basic test does not."""

TRANSITION = 6.0
"""The ε of Figure 6, between failing to reject and rejecting."""

TRANSITION_P: dict[int, tuple[float, ...]] = {1: (0.5984,), 25: (0.1851, 0.1599, 0.0661, 0.1941), 100: (0.1153,)}
"""p of N dependent models at ε = 6, one per bin; for N = 1 the mean of 100."""

TRANSITION_MEDIAN = 0.6385
"""The median of the 100 p-values of one dependent model at ε = 6."""

INDEPENDENT_EPS = 10.0
"""The ε of Figure 6 at which independent models are tested; all p lie near 1."""

FINAL_LOSS = 0.25
"""The penalised training loss that the dependent model ends with."""
