"""Agreement: how far the people who labelled the samples agree beyond chance, and how far gold follows each of them.

In go samples with a column of labels per annotator; out come the findings `annotators.*`: what a subject can be held
against at all. Begin with `alpha` (Krippendorff, *Computing Krippendorff's Alpha-Reliability*, 2011).
"""
