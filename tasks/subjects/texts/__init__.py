"""Classifiers of texts: how one learns or comes trained, what it says of a text, and how good it is."""
