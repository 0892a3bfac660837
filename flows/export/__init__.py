"""What is handed out of a run: a record and its artifacts go in; a folder, a lake or a model that others read comes
out.

Every form is a line of `FORMS` in commands/data.py. Begin with curated_sets.py.
"""
