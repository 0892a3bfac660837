"""Attacks on medical terms, after Araujo et al., *On Adversarial Examples for Biomedical NLP Tasks*, Section 4.1.

Tagged sentences or pairs of sentences come in; the same with their terms attacked, what became of each term, and
findings on taggers and scorers go out (Tables 2-6), also on those that were trained on attacked copies. Attacks
(swapped letters, neighbouring keys, synonyms) are made once, without asking any subject. Begin with `synonymy.py`, an
attack whole, and `perturbing.py`, which applies it to a sentence.
"""
