"""Evidence that somebody else can check: signed statements about a run, the bundle that carries them, and computing
parts of it anew. In goes a run of a store and a private key; out comes one file. Begin at `statements.py`; what may be
believed of a bundle is in `bundle.py`, what is computed anew in `recompute.py`.
"""
