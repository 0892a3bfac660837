"""In what order: Prefect flows, the settings of a pipeline, the command line and the schedules."""
