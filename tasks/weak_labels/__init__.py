"""Weak labels: the panel's votes become a class and a confidence, by majority or by Snorkel's label model (paper 000)."""
