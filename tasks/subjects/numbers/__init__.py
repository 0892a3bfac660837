"""Subjects that predict a number (regression): how far off they are, and whether their intervals hold the truth.

In come samples with a column of true numbers and, where there is one, the order; out go predictions and the findings
`regression.*`. Begin with `errors.py`.
"""
