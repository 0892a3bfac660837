"""Ingest: rows from files, embedded samples or vote tables become Samples, and what does not fit becomes Rejects.

In comes a `source` of pipelines.yaml; out come Samples, Rejects (each with file, row and reason), Classes and what the
data contract found. Every row is checked where it is read: on the workers, vectorised. No paper describes this room.

Begin with `task.ingest`. `sources` finds the files, `layout` settles what the columns mean and cuts the files into
pieces, `entry` turns a piece into samples. A reader of a format is a module with its value (`parquet.PARQUET`), listed
in `readers`; `reader_choice` says what it is handed and what it gives.
"""
