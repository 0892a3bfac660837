"""Somebody's code and plug-ins: `module:object` or a file comes in, a reference with a fingerprint and tables of
choices go out. Begin reading at `references.py`.
"""
