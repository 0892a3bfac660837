"""What Snorkel's label model minimises, and its gradient, where the matrix of all pairs of votes would be too large.

With O = L_indᵀ L_ind / n and A = μ P μᵀ, both [m·k, m·k], Snorkel's loss is ‖mask ∘ (O − A)‖² + ‖μ P 1 − diag O‖²,
where the mask leaves out what one function says beside itself. O has few entries that are not 0, and A is a product of
thin matrices:

    ‖mask ∘ (O − A)‖² = ‖O₋‖² − 2 ⟨O₋, A⟩ + ‖A‖² − Σ_i ‖A_ii‖²

with O₋ the O outside the mask's blocks and A_ii the block of function i. Nothing here is larger than μ or O₋.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.vote_counts import VoteCounts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = npt.NDArray[np.float64]
Objective = Callable[[Floats], tuple[float, Floats]]
"""The loss at μ [m·k, k], and its gradient there."""


def objective(counts: VoteCounts, balance: Sequence[float]) -> Objective:
    """Snorkel's loss for these counts, with P(class) on the diagonal of P."""
    k, prior = counts.classes, np.asarray(balance, dtype=np.float64)
    shares = counts.votes.ravel() / counts.n  # diag O
    between = _between_functions(counts)
    square = float((between.data**2).sum())

    def at(mu: Floats) -> tuple[float, Floats]:
        weighted = mu * prior  # μ P
        seen = between @ weighted  # O₋ μ P
        gram = mu.T @ weighted  # μᵀ μ P, [k, k]
        blocks = mu.reshape(-1, k, k)
        own = np.einsum("iyc,izc->iyz", blocks * prior, blocks)  # A_ii
        missed = weighted.sum(axis=1) - shares
        loss = square - 2 * float((mu * seen).sum()) + float((gram * gram.T).sum()) - float((own**2).sum())
        inside = np.einsum("iyz,izc->iyc", own, blocks * prior).reshape(mu.shape)
        gradient = -4 * (seen - weighted @ gram + inside) + 2 * missed[:, None] * prior
        return loss + float((missed**2).sum()), gradient

    return at


def _between_functions(counts: VoteCounts) -> csr_array:
    """O without the blocks of a function beside itself."""
    entries = counts.matrix.tocoo()
    others = entries.row // counts.classes != entries.col // counts.classes
    from scipy.sparse import coo_array

    kept = (entries.data[others] / counts.n, (entries.row[others], entries.col[others]))
    return coo_array(kept, shape=entries.shape).tocsr()
