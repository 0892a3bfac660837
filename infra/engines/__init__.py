"""The engines behind `assay.infra.compute`: this process, Dask on this machine, or a Dask cluster somewhere."""
