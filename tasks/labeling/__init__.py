"""Labelling: rulebooks of labelling functions vote on every sample (paper 000, Dataset Design).

In go samples and a rulebook (ours by name, somebody's file, or rules written in YAML); out come `Votes`, one column per
function, and a `LabelingTable` that sums them up. Begin with `rules`, which says what a labelling function is, then
`voting`, which asks them; `rulebooks/breast_cancer` is a whole rulebook on one page.
"""
