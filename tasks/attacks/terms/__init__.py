"""Attacks on terms (Araujo et al.): only the words that a domain is about are misspelt or replaced by synonyms, in
texts whose tags or scores must stay right. Black box; the same perturbed samples for every subject."""
