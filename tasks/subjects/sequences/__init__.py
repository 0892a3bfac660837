"""Taggers of words and scorers of sentence pairs: how they learn or come trained, and what they say."""
