"""What is done: one room per stage; pure modules, and one `task.py` that binds them to Prefect."""
