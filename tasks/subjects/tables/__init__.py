"""Subjects of tables: how one learns from feature columns or comes as it is, and how it fares on D1 … DN.

In come samples, weak labels and the order; out go parameters as JSON, predictions of samples that a model has not seen,
and the findings `subject.*`. Begin with `task.py`.
"""
