"""Pruning: a small independent panel out of many dependent labelling functions (paper 000, Algorithm 1)."""
