"""Assay audits machine-learning models for robustness and curates data sets that are hard on purpose.

The package has four storeys, each a folder at the top of the repository: `infra` (where it lives and runs), `data`
(what the data is), `tasks` (what is done) and `flows` (in what order). A storey imports only from those below it.
"""

from assay.moved import forward

__version__ = "0.1.0"

forward()
