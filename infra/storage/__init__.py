"""Bytes that stay: artifacts and records come in, files under a key go out, whole or not at all, on any file system
that fsspec reaches. Begin reading at `artifacts.py`, then `store.py`.
"""
