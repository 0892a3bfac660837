"""Drift: whether tonight's inputs and answers can be told from those of the run that they are held against.

In go the samples and predictions of two nights; out come the findings `drift.*`. Begin with `told_apart` in `compare`
(Lopez-Paz and Oquab, *Revisiting Classifier Two-Sample Tests*, 2017).
"""
