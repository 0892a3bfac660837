"""In what order: Prefect flows, the settings of a pipeline, the command line and the schedules.

In comes a pipelines.yaml; out come a run in the store and its report. Begin with `audit.py` (which audits run when),
then `running.py` (one run with everything around it).
"""
