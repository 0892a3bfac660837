"""Reporting: parts laid out on one self-contained page, and an index of the pages of all nights.

The room knows no stage. Each stage's own `page.py` turns its findings and tables into a `Part` (`parts.py`); the flow
hands the parts over in a `Report`; `layout.py` makes HTML of it, with `plots.py` and `tables.py` for what is inside and
`appendix.py` for what it rests on. `markup.py` is the only place where strings become HTML, and it escapes them.
"""
