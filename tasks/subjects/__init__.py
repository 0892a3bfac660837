"""Subjects: the models under audit, trained by Assay, brought by the user or asked at an address.

In come samples and a subject's settings; out go its files with a card, its learning curve, predictions and findings
on them. Begin with `settings.py` (what may be written), `kinds.py` (the table of kinds, with the stages of each) and
`resolved.py` (what its hash covers); each kind has a room: `tables/`, `images/`, `texts/`, `sequences/`.
"""
