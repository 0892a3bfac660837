"""Subjects of images and texts along the adversarial order D1 … DN: as they are, challenged and defended.

In come answers and the order; out go the findings `along.*` and their part of the report. Begin with `task.py`.
"""
