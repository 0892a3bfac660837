"""Weak labels: labelers turn votes into one label per sample and a confidence in it.

In go `Votes` and the `Panel` of functions that are listened to; out come a `LabelModel` (what each vote weighs) and
`WeakLabels`. Begin with `labelers`, which says what a labeler is and how votes become a label; `snorkel` learns
weights; `table` lists the labelers and holds the options.
"""
