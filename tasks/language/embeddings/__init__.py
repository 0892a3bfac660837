"""Word vectors by name: trained on the corpus, of the subject, of a sentence encoder, or read from a file.

In: a name and what it needs (texts, a subject, a file). Out: a `Provider` (`provider.py`) that gives words their
vectors. TOKI lets several of them vote (§3.2): each sees relatedness differently, and each has its own biases. Begin
with `ensemble.py`, which resolves the names and builds the providers.
"""
