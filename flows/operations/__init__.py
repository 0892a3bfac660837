"""What is done around runs: a configuration goes in, what is wrong with it or the documents made of it come out.

Begin with check.py (`assay check`); documentation.py writes docs/pipelines.md.
"""
