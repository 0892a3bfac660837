"""The tables of the papers: runs and published results go in, the papers' numbers beside ours come out.

`papers.py` says what stands in each table. Begin with paper_table.py, then any paper of papers.py; tables.py fills
them.
"""
