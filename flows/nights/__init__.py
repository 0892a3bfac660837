"""What nights leave besides their reports: a history of all findings, metrics for a monitor, and a message when a
pipeline's state has changed. None of it can change how a night ended."""
