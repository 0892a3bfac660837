"""Where calls run: calls and settings come in; outcomes go out, from this process, Dask's workers on this machine, or a
Dask cluster somewhere. Begin reading at `calls.py` (the protocol of an engine), then `opening.py`.
"""
