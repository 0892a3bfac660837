"""Label errors: which gold labels a subject confidently contradicts that has not seen them, and how well that finds
some that were flipped on purpose.

In go gold labels and the subjects' out-of-sample probabilities; out come the findings `label_errors.*` and a row per
sample. Begin with `confident` (Northcutt, Jiang and Chuang, *Confident Learning*, 2021).
"""
