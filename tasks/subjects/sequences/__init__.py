"""Taggers of words and scorers of sentence pairs: how they learn or come trained, and what they say.

In come tagged sentences or scored pairs; out go files with a card, and `Tagged` or `Scored` rows. Begin with `task.py`;
`rows.py` says what a tagger and a scorer are.
"""
