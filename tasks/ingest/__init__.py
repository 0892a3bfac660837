"""Ingest: rows from files, embedded samples or vote tables become Samples, and what does not fit becomes Rejects.

No paper describes this room; it is the house's first border. Every row that comes in is checked where it is read
(on the workers, vectorised), every row that does not fit is kept with its file, row and reason, and the contract of
`assay.data.contracts` has the last word before the first stage of the audit sees a sample.
"""
