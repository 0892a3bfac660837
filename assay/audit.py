"""`from assay import audit`: the name of this module is the function itself, so that the package stays light to import.

`assay/__init__.py` is in the keys of what every rulebook of ours voted, and so is left as it was.
"""

import sys

from assay.flows.in_python import audit

sys.modules[__name__] = audit  # type: ignore[assignment]  # what stands there is what `from assay import` hands out
