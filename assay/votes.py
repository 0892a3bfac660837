"""`from assay import votes`: the name of this module is the function itself, as that of `assay.audit` is."""

import sys

from assay.flows.rule_trial import votes

sys.modules[__name__] = votes  # type: ignore[assignment]  # what stands there is what `from assay import` hands out
