"""Where it lives and runs: the artifact store, Dask, stages, seeds, and what went wrong in words."""
