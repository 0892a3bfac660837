"""Attacks: the smallest change that makes a subject wrong, found with its gradients, by queries, or by a generator.

Samples, a subject and an attack's settings come in; attacked samples, a record of each, and findings go out. Begin with
`pgd.py`, which is an attack whole (its options, its algorithm, its value in `table.py`), then read `batch.py`, which is
what an attack is given, and `task.py`, the stages. `texts/` and `terms/` are rooms of their own with the same parts;
`chance/` says how much of what an attack changes a model changes by itself.
"""
