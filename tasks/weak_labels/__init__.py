"""Weak labels: votes become a class and a confidence, by majority or by Snorkel's label model (paper 000)."""
