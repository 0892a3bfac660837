"""Models by address: a file that is read and never executed, or a service that is asked.

In comes what a subject's settings say; out goes a `GivenModel`, which answers for rows, texts or images. Begin with
`table.py`, the kinds of address; `given.py` is what they lead to, and each other module opens one kind.
"""
