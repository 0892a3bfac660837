"""Hardness: are the samples that one audit finds hard hard for others too, and does a measure rank a subject's errors?

In go tables of other audits (what weak labels doubt, what a subject is unsure of, what falls at a small ε, what flips,
what few words turn, what is right for the wrong reasons); out come `SampleHardness`, findings `hardness.*` and the
samples that are hard by every measure. Begin with `measures`; `association` holds them against each other by ranks,
also with the subject's confidence taken away, since two measures of one margin agree for nothing.
"""
