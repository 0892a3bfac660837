"""Pruning: of labelling functions that depend on each other one is kept (paper 000, Algorithm 1).

In go `Votes`; out comes the `Panel`: every function with its rank, and whether it is kept or who pruned it. Begin with
`panel`, which is the algorithm.
"""
