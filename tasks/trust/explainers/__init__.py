"""Which words made a subject say what it said: LIME, word omission and gradients (TOKI, section 5).

A feature is a distinct word of the text, all its occurrences together, as LIME's bag of words has it. Every explainer
gives the same: words with their signed importance for the predicted class, the most important first.
"""
