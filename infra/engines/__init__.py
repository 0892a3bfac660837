"""The engines behind `assay.infra.engines.calls`: this process, Dask on this machine, or a Dask cluster somewhere."""
