"""Can the test score be believed? A hypothesis test for a model that has been fitted to its test set (Werpachowski,
György and Szepesvári, 2019): adversarial examples whose density is known give a second estimate of the error, and the
two agree as long as the model and the test set are independent.

In: an image subject and its samples, or samples that come in orbits, or nothing (the synthetic experiment). Out: tests
of independence, verdicts, and findings `overfitting.*`. Begin with `independence.py`, then `translations.py`.
"""
