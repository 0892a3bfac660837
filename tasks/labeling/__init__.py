"""Labelling: rulebooks of labelling functions vote on every sample (paper 000, Dataset Design)."""
