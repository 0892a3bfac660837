"""Which words made a subject answer as it did: LIME, word omission and gradients (TOKI, section 5).

In: a subject, a text and a class. Out: the distinct words of the text with their signed importance for that class, the
most important first; a word stands for all its occurrences, as LIME's bag of words has it. Begin with `documents.py`;
`table.py` lists the explainers, each of which is a function and an `ExplainerChoice` at the end of its module.
"""
