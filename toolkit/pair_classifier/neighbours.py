"""The nearest neighbour of a vector among all others that it may have: exact, or in an inverted file.

With one cell every vector is compared with every query, a block of queries at a time; that is exact. With more, vectors
are put into cells around the means of k-means, and a query looks into the few cells whose means are nearest.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import torch
from sklearn.cluster import MiniBatchKMeans
from torch import Tensor

BLOCK = 256  # ours: queries that are compared at a time; 100 MB of cosines among 10^5 vectors
NONE = -2.0  # below every cosine
SAMPLE = 64  # ours: vectors of each cell from which k-means finds its mean


def nearest(
    vectors: Tensor,
    queries: Sequence[int],
    forbidden: Sequence[Sequence[int]],
    cells: int = 1,
    probes: int = 1,
    max_cosine: float = 1.0,
    seed: int = 0,
) -> tuple[list[int], list[float]]:
    """The nearest permitted neighbour of each query by cosine.

    >>> vectors = torch.tensor([[1.0, 0], [0.8, 0.6], [0.6, 0.8], [0, 1]])
    >>> neighbours, cosines = nearest(vectors, [0, 3], [[0, 1], [3]])
    >>> neighbours, [round(cosine, 3) for cosine in cosines]
    ([2, 2], [0.6, 0.8])

    Args:
        vectors: (vectors, dimensions), float32, each of length 1 or 0.
        queries: Numbers of the vectors whose neighbours are wanted.
        forbidden: For each query the numbers of vectors that are no neighbours of it; its own belongs there.
        cells: Cells of the inverted file; 1 is exact. About the root of the number of vectors is usual.
        probes: Cells that each query looks into; as many as there are is exact too.
        max_cosine: What is nearer than this is no neighbour either, in [-1, 1].
        seed: Of k-means.

    Returns:
        For each query the number of its neighbour and their cosine in [-1, 1]; -1 and -2 if its cells have none.

    Raises:
        ValueError: A query has no list of forbidden vectors; more cells than vectors, or more probes than cells.
    """
    if len(queries) != len(forbidden):
        raise ValueError(f"wanted forbidden vectors of each of {len(queries)} queries, got those of {len(forbidden)}")
    if not 1 <= probes <= cells <= max(1, len(vectors)):
        raise ValueError(f"wanted 1 <= probes <= cells <= {len(vectors)} vectors, got {probes} probes, {cells} cells")
    device, means = vectors.device, cell_means(vectors, cells, seed)
    asked = torch.tensor(list(queries), dtype=torch.long, device=device)
    homes, looked = nearest_means(vectors, means, 1)[:, 0], nearest_means(vectors[asked], means, probes)
    found, near = torch.full_like(asked, -1), torch.full((len(asked),), NONE, device=device)
    for cell in range(cells):
        members, askers = (homes == cell).nonzero()[:, 0], (looked == cell).any(1).nonzero()[:, 0]
        for block in askers.split(BLOCK) if len(members) else ():
            barred = listed([forbidden[i] for i in block.tolist()], device)
            at, cosines = nearest_members(vectors, asked[block], members, barred, max_cosine)
            nearer = cosines > near[block]
            found[block[nearer]], near[block[nearer]] = at[nearer], cosines[nearer]
    return found.tolist(), near.tolist()


def nearest_members(
    vectors: Tensor, queries: Tensor, members: Tensor, barred: tuple[Tensor, Tensor], max_cosine: float
) -> tuple[Tensor, Tensor]:
    """The nearest of a cell's members to each query, and its cosine; `NONE` where it may have none of them.

    Args:
        vectors: (vectors, dimensions), of length 1 or 0.
        queries: (queries,) numbers of vectors.
        members: (members,) numbers of vectors, ascending.
        barred: Places of queries, and numbers of vectors that those may not have; they need not be members.
        max_cosine: What is nearer than this they may not have either.
    """
    cosines = (vectors[queries] @ vectors[members].T).clamp(-1, 1)
    place = torch.searchsorted(members, barred[1]).clamp(max=len(members) - 1)
    here = members[place] == barred[1]
    cosines[barred[0][here], place[here]] = NONE
    if max_cosine < 1:
        cosines[cosines > max_cosine] = NONE
    best, at = cosines.max(1)
    return members[at], best


def listed(lists: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """The numbers of several lists in one row, each with the number of its list.

    >>> [t.tolist() for t in listed([[7, 8], [], [9]], torch.device("cpu"))]
    [[0, 0, 2], [7, 8, 9]]
    """
    lengths = torch.tensor([len(one) for one in lists], dtype=torch.long, device=device)
    rows = torch.arange(len(lists), device=device).repeat_interleave(lengths)
    return rows, torch.tensor(list(chain.from_iterable(lists)), dtype=torch.long, device=device)


def cell_means(vectors: Tensor, cells: int, seed: int) -> Tensor:
    """(cells, dimensions) means of k-means over a sample of the vectors, in float32 and of length 1."""
    if cells == 1:
        return vectors.new_zeros(1, vectors.shape[1])
    drawn = np.random.default_rng(seed).permutation(len(vectors))[: cells * SAMPLE]
    fitted = MiniBatchKMeans(cells, random_state=seed, n_init=1, batch_size=4096).fit(vectors[drawn].cpu().numpy())
    return torch.nn.functional.normalize(torch.as_tensor(fitted.cluster_centers_).to(vectors))


def nearest_means(vectors: Tensor, means: Tensor, count: int) -> Tensor:
    """(vectors, count) numbers of the means that have the greatest cosines with each vector."""
    blocks = [(block @ means.T).topk(count).indices for block in vectors.split(BLOCK * 16)]
    return torch.cat(blocks) if blocks else torch.zeros(0, count, dtype=torch.long, device=vectors.device)
