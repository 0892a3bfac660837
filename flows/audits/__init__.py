"""The kinds of audit. In comes a `Ground` (what a pipeline says to all audits, and the results of other audits) with
the settings of a kind's own keys; out come handles of what stages made, parts of the report and lines of verdict.

A kind is a value (`curation.py`); what is heavy stands in a module that is imported at the first call
(`curation_flow.py`). Begin with `table.py`, which lists the kinds, then `annotators.py`, a small one, and
`../kind.py`, which says what a kind consists of.
"""
