"""Corruptions: what cameras and scanners do to images, in sequences along which a prediction should not flip."""
