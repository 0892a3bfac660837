"""Ordering: Clopper-Pearson intervals, curated sets D1…DN, and whether their order is adversarial (paper 000)."""
