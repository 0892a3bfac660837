"""What the data is: the kinds of artifact, the contracts at our borders, the catalogue and the embedded samples.

Begin with `schemas`: a class per kind of artifact, with its columns. `catalog` knows the public data sets and fetches
them, `samples.registry` the embedded ones; both go by the hash of the source that makes their tables.
"""
