"""Word attacks on text classifiers (Nguyen Tung et al., section 4): A2T, which swaps words for synonyms in the order of
the gradient, and the same attack guided by the trust oracle, which swaps what the subject should read for what it
should not. TextAttack is the engine: goal, transformation, constraints and search are composed as it composes them."""
