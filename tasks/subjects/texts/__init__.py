"""Classifiers of texts: how one learns or comes trained, what it says of a text, and how good it is.

In come texts and classes; out go files with a card, predictions and the findings `subject.*`. Begin with `task.py`;
`model.py` is what explainers and attacks see.
"""
