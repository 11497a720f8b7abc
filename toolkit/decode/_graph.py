"""The capture of a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def captured(compute: Callable[[], None], memory: Any, device: torch.device) -> torch.cuda.CUDAGraph:
    """A graph of the kernels of a function, which has been called once.

    Libraries get ready at a first call, and that must not be captured: it is on a stream of its own, as torch wants it.

    Args:
        compute: Reads and writes tensors that stay where they are, and never waits for the device.
        memory: A handle of the memory that the graph shares with others.
        device: A GPU.

    Raises:
        RuntimeError: The function cannot be captured, or there is too little memory.
    """
    # torch leaves the stream of a capture that fails as the current one; the outer context does not.
    with torch.cuda.device(device), torch.cuda.stream(torch.cuda.current_stream(device)):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            compute()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        # Other threads may pin memory meanwhile, which a capture forbids them otherwise.
        with torch.cuda.graph(graph, pool=memory, capture_error_mode="thread_local"):
            compute()
    return graph
