"""Can the test score be believed? A hypothesis test for a model that has been fitted to its test set (Werpachowski,
György and Szepesvári, 2019): adversarial examples whose density is known give a second estimate of the error, and the
two agree as long as the model and the test set are independent."""
