"""Attacks: the smallest change that makes a subject wrong, found with its gradients, by queries, or by a generator."""
