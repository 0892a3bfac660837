"""Word vectors by name: trained on the corpus, of the subject, of a sentence encoder, or read from a file.

TOKI lets several of them vote (§3.2): each sees relatedness differently, and each has its own biases.
"""
