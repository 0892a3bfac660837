"""Ordering: Clopper-Pearson intervals, curated sets D1…DN, and whether their order is adversarial (paper 000).

In go `WeakLabels`; out come `Intervals`, the `CuratedSets` in their order, its accuracy curve and findings. Begin with
`intervals`, `datasets` and `validity`, which hold the paper's formulas; `order_test` is the test of every sample that
is concluded from. Orders of any length are sorted by ranges: `sorting` and `ranges`.
"""
