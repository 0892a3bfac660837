"""Training dynamics: how probable a subject found its final answer while it was still learning.

Swayamdipta et al. 2020 (*Dataset Cartography*) take the mean probability of the true class over the epochs. Samples
under audit have no true class to go by, and a measure that knew it would rank errors by knowing them: here it is the
class that the subject ends with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.tasks.hardness.measures import DYNAMICS, rows_of
from assay.tasks.subjects.images.measures import probabilities_of
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.snapshots import earlier_selves

Floats = npt.NDArray[np.float64]
Asked = Callable[[pa.Table, ResolvedSubject, dict[str, bytes], Sequence[str]], pa.Table]


def late_rows(
    samples: pa.Table, *, subject: ResolvedSubject, files: dict[str, bytes], classes: Sequence[str]
) -> pa.Table:
    """The SampleHardness of one partition: what the subject would have said of it after each kept epoch, and says."""
    ask = _ASKED[subject.settings.kind]
    answers = [ask(samples, subject, one, classes) for one in [*earlier_selves(files), files]]
    probabilities = np.stack([probabilities_of(table, len(classes)) for table in answers])
    several = bool(samples.num_rows) and answers[-1]["predicted"][0].as_py() < 0
    values = lateness(probabilities, several)
    return rows_of(samples["id"], values, np.isfinite(values), DYNAMICS, subject.settings.name)


def lateness(probabilities: Floats, several: bool) -> Floats:
    """1 − the mean probability of the final answer over the epochs [e, n, k], the last of which is the end.

    Of several labels it is that of the label it was least sure of.

    >>> lateness(np.array([[[0.2, 0.8], [0.1, 0.9]], [[0.1, 0.9], [0.8, 0.2]]]), several=False).round(2).tolist()
    [0.15, 0.55]
    """
    end = probabilities[-1]
    if several:
        return np.asarray(1 - np.where(end >= 0.5, probabilities, 1 - probabilities).mean(axis=0).min(axis=1))
    answers = end.argmax(axis=1)
    return np.asarray(1 - probabilities[:, np.arange(len(answers)), answers].mean(axis=0))


def _of_images(samples: pa.Table, subject: ResolvedSubject, files: dict[str, bytes], _: Sequence[str]) -> pa.Table:
    from assay.tasks.subjects.images.measures import predict_table

    return predict_table(samples, subject=subject, files=files)


def _of_texts(samples: pa.Table, subject: ResolvedSubject, files: dict[str, bytes], classes: Sequence[str]) -> pa.Table:
    from assay.tasks.subjects.texts.measures import predict_table

    table = predict_table(samples, subject=subject, files=files, classes=classes).result
    assert isinstance(table, pa.Table)
    return table


_ASKED: Mapping[str, Asked] = {"network": _of_images, "classifier": _of_texts}
