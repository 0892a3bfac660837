"""Hardness: do the samples that one audit finds hard give others trouble too? What weak labels doubt, what a subject is
unsure of, what falls at a small ε, what flips, what few words turn, what is right for the wrong reasons: every measure
speaks of the same samples, so they are held against each other by their ranks, also with the subject's confidence taken
away, since two measures of one margin agree for nothing; and against the subject's true errors."""
