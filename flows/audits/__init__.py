"""The kinds of audit, each a value; `table.py` lists them."""
