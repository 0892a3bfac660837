"""What Prefect sees of a run: stages and parts of flows come in, task runs and flow runs on a server go out; imported
only where a run is orchestrated. Begin reading at `tasks.py`.
"""
