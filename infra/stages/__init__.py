"""What a task is written with: functions of artifacts and settings come in, committed artifacts and the record of a
run go out. Begin reading at `stage.py`, then `partitions.py`.
"""
