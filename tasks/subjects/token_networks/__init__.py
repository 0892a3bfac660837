"""What all subjects that read tokens share: files of a transformer, blocks of fixed shapes, and how they learn.

In come a model's files or training texts; out goes a network with its tokenizer. Begin with `hugging_face.py`;
`sources.py` finds the files and refuses what cannot be trusted, `epochs.py` computes and teaches.
"""
