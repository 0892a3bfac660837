"""Reporting: parts laid out on one self-contained page, and an index of the pages of all nights.

In: each stage's `Part` (`parts.py`), made of findings by its own `page.py` with the help of `estimates.py`. Out: HTML.
The room knows no stage. Begin with `report.py`, then `layout.py`; `plots.py`, `diagrams.py`, `tables.py` and
`gallery.py` draw what is inside. `markup.py` is the only place where strings become HTML, and it escapes them.
"""
