"""Rulebooks that come with Assay, one module each."""
