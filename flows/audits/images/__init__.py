"""Audits of image subjects: attacks, corruptions, defences, diagnostics, smoothing."""
