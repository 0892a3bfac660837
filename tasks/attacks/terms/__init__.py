"""Attacks on medical terms, after Araujo et al., *On Adversarial Examples for Biomedical NLP Tasks*, Section 4.1.

Swapped letters, neighbouring keys and synonyms: made once, without asking any subject, in tagged sentences and in one
sentence of each pair; and what they do to subjects, also to those that were trained on attacked copies (Tables 2–6).
"""
