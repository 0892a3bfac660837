from assay.flows.in_python import audit as audit
from assay.flows.in_python import audit_model as audit_model
from assay.flows.rule_trial import votes as votes

__version__: str
