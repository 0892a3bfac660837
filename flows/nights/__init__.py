"""What a night leaves besides its report: a record goes in; history, metrics, tracker runs and messages come out.

None of it can change how a night ended. Begin with after_run.py; notify.py says what is sent, and when.
"""
