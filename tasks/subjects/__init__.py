"""Subjects: the models under audit, and how they are measured."""
