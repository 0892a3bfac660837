"""Whether two processors compute the same bits: a fixed sample of what stages compute with, as one hash.

Machines may be shown equal by it where their names differ (`compute: {profile: portable}`). It is a sample: kernels
that are not in it may still differ in their last bits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt


@cache
def kernel_bits() -> str:
    """The hash of every result, computed with one thread; it takes Torch's import and a quarter of a second."""
    import torch
    from threadpoolctl import threadpool_limits

    state, threads = hashlib.blake2b(digest_size=6), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1), torch.random.fork_rng(devices=[]):
            for result in (*_of_arrays(), *_of_networks()):
                state.update(result.tobytes())
    finally:
        torch.set_num_threads(threads)
    return state.hexdigest()


def _of_arrays() -> Iterator[npt.NDArray[Any]]:
    """Products, factors, sums and functions of NumPy and SciPy; quantiles of a beta are known to differ."""
    from scipy import special

    draw = np.random.default_rng(0)
    a, x = draw.standard_normal((120, 120)), draw.random(5000)
    yield from (a @ a, a @ a[0], np.linalg.solve(a, a[0]), np.linalg.svd(a)[1], np.linalg.eigh(a @ a.T)[0])
    yield from (np.array([x @ x, x.sum(), x.std()]), a.sum(axis=0), np.exp(a), np.log(x), np.tanh(a), np.sin(a))
    yield from (special.betaincinv(3.5, 7.25, x), special.betainc(3.5, 7.25, x), special.ndtri(x))
    yield from (special.gammaln(x), special.expit(a), x.astype(np.float32) ** 1.5)


def _of_networks() -> Iterator[npt.NDArray[Any]]:
    """Layers of image and text networks, and the gradients of their inputs and weights."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    attending = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    seeing = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 5, 2))
    for network, shape in ((seeing, (64, 3, 20, 20)), (attending, (16, 24, 64))):
        inputs = torch.rand(shape, requires_grad=True)
        outputs = network(inputs)
        outputs.flatten(1).log_softmax(dim=1)[:, 0].sum().backward()
        gradients = (each.grad.numpy() for each in (inputs, *network.parameters()))
        yield from (outputs.detach().numpy(), *gradients)
