"""Words: where they are in a text, what they mean, and how related two of them are.

In: texts, and lists or files of words. Out: words with their spans, synonyms, opposites, names of things, vectors and
cosines. The room knows no subject and no audit. Begin with `words.py`, then `relatedness.py`.
"""
