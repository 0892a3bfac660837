"""The commands of `assay`: words on the command line go in, sentences and an exit code come out.

Nothing heavy is imported until a command runs, and only cli.py imports this room. Begin with run.py.
"""
