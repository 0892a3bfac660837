"""Statistics that every room shares: findings, intervals, tests, corrections, and gates.

In: arrays of what is right or wrong, scores, groups. Out: values with intervals and p-values, as `Finding` where they
are reported. The room knows no stage and not how findings are shown. Begin with `findings.py` and `proportions.py`;
`clusters.py` says what becomes of samples that are not independent, `gates.py` how a team's bounds are judged.
"""
