"""Features of a layer in the plane, by t-SNE (van der Maaten and Hinton 2008; Xu et al., figure 7)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.tasks.diagnostics.features import Features

Places = npt.NDArray[np.float64]  # [n, 2]

_ROUNDS = 500  # half of what scikit-learn takes by default: enough for some hundred points, in half the time


def embed(features: Features, perplexity: float, seed: int) -> Places:
    """A place in the plane for every row, near those it is like [n, 2]; the same for the same seed.

    Columns that never vary are left out; where nothing varies, or with fewer than five rows, all lie at the origin.
    """
    from sklearn.manifold import TSNE

    varying = features[:, features.std(axis=0) > 0].astype(np.float64)
    n = len(features)
    if n < 5 or varying.shape[1] == 0:
        return np.zeros((n, 2))
    scale = float(varying.std(axis=0).max())
    method = TSNE(
        perplexity=min(perplexity, (n - 1) / 3),
        init="pca" if varying.shape[1] > 1 else "random",
        learning_rate="auto",
        random_state=seed,
        max_iter=_ROUNDS,
        n_jobs=1,
    )
    return np.asarray(method.fit_transform(varying / scale), dtype=np.float64)
