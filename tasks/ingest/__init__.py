"""Ingest: rows from files, samples or vote tables become Samples; what does not fit becomes Rejects with file, row and reason."""
