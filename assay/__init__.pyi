from assay.flows.in_python import Audited as Audited
from assay.flows.in_python import audit as audit
from assay.flows.trying.rulebooks import votes as votes

__all__ = ["Audited", "__version__", "audit", "votes"]

__version__: str
