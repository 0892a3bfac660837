from assay.flows.in_python import audit as audit
from assay.flows.trying.rulebooks import votes as votes

__version__: str
