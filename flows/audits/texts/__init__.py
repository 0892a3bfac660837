"""Audits of text classifiers: word attacks and noise, and training on attacked copies."""
