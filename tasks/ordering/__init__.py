"""Ordering: Clopper-Pearson intervals, curated sets D1…DN, and whether their order is adversarial at all (paper 000)."""
