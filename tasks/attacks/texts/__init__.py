"""Attacks on text classifiers: samples and a subject come in, attacked texts, noisy copies and findings go out.

A2T and its guided variant (Nguyen Tung et al., section 4) swap words while they ask the subject; noise (typos,
casing, punctuation, whitespace, homoglyphs) is the same for every subject. Begin with `task.py`; TextAttack is the
engine of word swaps: goal, transformation, constraints and search are composed as it composes them
(`composing.py`).
"""
