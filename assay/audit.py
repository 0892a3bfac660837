"""`from assay import audit`: the module of this name is the function itself, so that the package is light to import."""

import sys

from assay.flows.in_python import audit

sys.modules[__name__] = audit  # type: ignore[assignment]  # what stands there is what `from assay import` hands out
