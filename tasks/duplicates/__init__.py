"""Near duplicates: samples that show nearly the same as another, and audited samples that are nearly in the training.

In go samples, by the parts that train and that are audited where they were set apart; out come the findings
`duplicates.*` and the pairs themselves. Images are compared by a difference hash (Krawetz, 2013), texts by the runs of
letters that both have (MinHash with bands, Broder 1997; Indyk and Motwani 1998), rows of tables by their rounded
values. Begin with `near`.
"""
