"""Hardness as a kind of audit: what the others found hard, held against each other."""
