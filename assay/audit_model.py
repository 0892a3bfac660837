"""`from assay import audit_model`: the name of this module is the function itself, as that of `assay.audit` is."""

import sys

from assay.flows.in_python import audit_model

sys.modules[__name__] = audit_model  # type: ignore[assignment]  # what stands there is what `from assay import` hands out
