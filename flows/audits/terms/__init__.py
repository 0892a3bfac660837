"""Audits of taggers and scorers: attacks on terms, and training on attacked copies."""
