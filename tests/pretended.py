"""A CUDA device that is pretended: the numbers are a CPU's, the rules about devices are CUDA's.

    with pretended_cuda() as gpu:
        model.to("cuda")(ids)          # raises CUDA's error if `ids` is on the CPU
    print(gpu.report())                # what the host waited for, by line of the project

Every tensor is an ordinary tensor of a CPU, so that code whose control flow depends on data runs. Its device is an
attribute of its *storage*, which views share. Two modes of torch do the rest. `_Python` answers for the device, moves
tensors, makes them for `device="cuda"`, and refuses numpy. `_Operators` sees every operator below autograd: it raises
CUDA's error where two devices meet, refuses operators that have no kernel for CUDA, and counts kernels, waits and
copies. A graph is the list of the operators within its block, which a replay computes again with the same tensors. What
it does not know: speed, rounding of CUDA's kernels, memory, streams, and several processes.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any
from unittest import mock

import torch
import torch._dynamo  # its tables of functions must not see the pretended ones
import torchgen
import yaml
from accelerate import PartialState
from accelerate.state import AcceleratorState
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils.checkpoint import DefaultDeviceType

ROOT = Path(__file__).parents[1]
CPU = torch.device("cpu")
# Operators after which the host waits for the device, which has to tell it the size of the result or a number.
WAITS = {
    **dict.fromkeys(("_local_scalar_dense", "nonzero", "unique_consecutive", "_unique", "_unique2", "unique_dim"), 1),
    **dict.fromkeys(("equal", "masked_select", "repeat_interleave", "_linalg_check_errors"), 1),
    "bincount": 2,
}
# Operators without a kernel: those of shapes, and new memory.
FREE = {
    *("view", "_unsafe_view", "reshape", "_reshape_alias", "t", "transpose", "permute", "expand", "slice", "select"),
    *(
        "unsqueeze",
        "squeeze",
        "unbind",
        "split",
        "chunk",
        "split_with_sizes",
        "unfold",
        "diagonal",
        "narrow",
        "flatten",
    ),
    *("unflatten", "movedim", "swapaxes", "view_as", "expand_as", "numpy_T", "T", "real", "as_strided"),
    *(
        "detach",
        "alias",
        "lift",
        "lift_fresh",
        "empty",
        "empty_like",
        "new_empty",
        "empty_strided",
        "new_empty_strided",
    ),
    *("set_", "resize_", "sym_size", "is_same_size", "_has_compatible_shallow_copy_type", "_local_scalar_dense"),
}
INDEXED = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"}
LIKE = {"empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like"} | {
    f"new_{kind}" for kind in ("empty", "zeros", "ones", "full", "empty_strided")
}
INTEGER_PRODUCTS = {"mm", "bmm", "addmm", "baddbmm", "addmv", "mv", "dot"}  # CUDA has them of floats only
OF_A_CPU = {"_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention_for_cpu_backward"}


@functools.cache
def _cuda_operators() -> frozenset[str]:
    """The operators that CUDA has a kernel for, or that others make up, by the table that torch is generated from."""
    table = Path(torchgen.__path__[0], "packaged", "ATen", "native", "native_functions.yaml")
    names = set()
    for entry in yaml.load(table.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        kernels = " ".join(entry.get("dispatch") or ["CompositeImplicit"])
        if "CUDA" in kernels or "Composite" in kernels or "structured_delegate" in entry or "autogen" in entry:
            names.add(entry["func"].split("(")[0].split(".")[0])
    return frozenset(names)


def _tensors(*arguments: object) -> list[Tensor]:
    tensors: list[Tensor] = []
    rest: list[object] = [*reversed(arguments)]
    while rest:
        value = rest.pop()
        if isinstance(value, Tensor):
            tensors.append(value)
        elif isinstance(value, (list, tuple)):
            rest.extend(reversed(value))
        elif isinstance(value, dict):
            rest.extend(reversed(value.values()))
    return tensors


class Gpu:
    """What the host did with the pretended devices.

    Attributes:
        devices: How many there are.
        kernels: Kernels by operator, one for each call of an operator that is no view.
        waits: By (reason, line of the project), how often the host waited for the device; copies from memory that is
            not pinned, and all copies to the host, are among them.
        captured: The graph that operators are captured into; None outside of a capture.
        replays: How many graphs were replayed.
    """

    def __init__(self, devices: int) -> None:
        self.devices, self.current = devices, 0
        self.kernels: Counter[str] = Counter()
        self.waits: Counter[tuple[str, str]] = Counter()
        self.making = CPU  # where a tensor is made that no tensor is made from
        self.captured: _Graph | None = None
        self.replays = 0

    def reset(self) -> None:
        """Count from here."""
        self.kernels.clear()
        self.waits.clear()

    def report(self, steps: int = 1) -> str:
        """The waits of a step, most first, a line each."""
        lines = [
            f"{sum(self.waits.values()) / steps:.2f} waits, {sum(self.kernels.values()) / steps:.1f} kernels a step"
        ]
        return "\n".join(
            lines + [f"{n / steps:6.2f} {reason} {line}" for (reason, line), n in self.waits.most_common()]
        )

    def known(self, device: Any) -> torch.device:
        """A device by any of its names, with its number.

        Raises:
            RuntimeError: There is no such device.
        """
        device = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
        if device.type != "cuda":
            return device
        number = self.current if device.index is None else device.index
        if number >= self.devices:
            raise RuntimeError(f"CUDA error: invalid device ordinal ({number} of {self.devices})")
        return torch.device("cuda", number)

    def of(self, tensor: Tensor) -> torch.device:
        """Where a tensor is."""
        try:
            return getattr(tensor.untyped_storage(), "_pretended", CPU)
        except (NotImplementedError, RuntimeError):  # it has no storage: packed weights of a CPU
            return CPU

    def put(self, tensor: Tensor, device: torch.device) -> Tensor:
        """The same tensor, from now on on a device."""
        with contextlib.suppress(NotImplementedError, RuntimeError):
            tensor.untyped_storage()._pretended = device  # type: ignore[attr-defined]
        return tensor

    def on_gpu(self, tensor: object) -> bool:
        """Whether it is a tensor on a device."""
        return isinstance(tensor, Tensor) and self.of(tensor).type == "cuda"

    def wait(self, reason: str, times: int = 1) -> None:
        """The host waits, in the innermost line of the project that is running.

        Raises:
            RuntimeError: It must not, because a graph is captured.
        """
        if self.captured is not None and times:
            raise RuntimeError(f"CUDA error: operation not permitted when stream is capturing ({reason})")
        frame, line = sys._getframe(1), "elsewhere"
        while frame is not None and line == "elsewhere":
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(ROOT) and "site-packages" not in path.parts and path != Path(__file__):
                line = f"{path.relative_to(ROOT)}:{frame.f_lineno}"
            frame = frame.f_back  # type: ignore[assignment]
        self.waits[reason, line] += times

    @contextlib.contextmanager
    def where(self, device: torch.device) -> Iterator[None]:
        """What is made from no tensor inside of the block is made there."""
        before, self.making = self.making, device
        try:
            yield
        finally:
            self.making = before

    def among(self, *arguments: object) -> torch.device:
        """The device of the arguments of a function that is made of others; without any, that of the caller."""
        return next((self.of(tensor) for tensor in _tensors(*arguments) if self.on_gpu(tensor)), self.making)


class _Graph:
    """A graph: operators with their arguments and results, whose memory stays theirs."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu, self.operators = gpu, list[tuple[Any, Any, Any, Any]]()

    @contextlib.contextmanager
    def capturing(self) -> Iterator[None]:
        """What is computed inside of the block belongs to the graph."""
        self.gpu.captured = self
        try:
            yield
        finally:
            self.gpu.captured = None

    def replay(self) -> None:
        """Compute everything again, into the same memory; the host starts it as one kernel."""
        self.gpu.replays += 1
        self.gpu.kernels["graph"] += 1
        with _disable_current_modes(), torch._C.DisableTorchFunction():
            for func, args, kwargs, result in self.operators:
                for tensor, again in zip(_tensors(result), _tensors(func(*args, **kwargs)), strict=True):
                    if tensor.untyped_storage()._cdata != again.untyped_storage()._cdata:
                        tensor.copy_(again)


class _Python(TorchFunctionMode):
    """What Python sees of tensors: their devices, moves, new ones, numpy."""

    def __init__(self, gpu: Gpu) -> None:
        super().__init__()
        self.gpu = gpu

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        gpu, kwargs, name = self.gpu, dict(kwargs or {}), getattr(func, "__name__", "")
        tensor = args[0] if args and isinstance(args[0], Tensor) else None
        if name == "__get__" and tensor is not None:
            of_device = {"device": lambda: gpu.of(tensor), "is_cuda": lambda: gpu.on_gpu(tensor)}
            of_device["is_cpu"] = lambda: not gpu.on_gpu(tensor)
            return of_device.get(getattr(func.__self__, "__name__", ""), lambda: func(*args, **kwargs))()
        if name == "get_device" and tensor is not None:
            return gpu.of(tensor).index if gpu.on_gpu(tensor) else -1
        if name in ("numpy", "__array__", "__dlpack__") and gpu.on_gpu(tensor):
            raise TypeError(f"can't convert {gpu.of(tensor)} device type tensor to numpy. Use Tensor.cpu() first")
        if name == "tolist" and gpu.on_gpu(tensor):
            gpu.wait("copy to the host")
        if name in ("pin_memory", "is_pinned") and tensor is not None:
            pinned = getattr(tensor.untyped_storage(), "_pinned", False)
            if name == "is_pinned" or pinned:
                return pinned if name == "is_pinned" else tensor
            copy = tensor.clone()
            copy.untyped_storage()._pinned = True  # type: ignore[attr-defined]
            return copy
        if name in ("to", "cuda", "cpu") and tensor is not None:
            return self.move(tensor, name, list(args[1:]), kwargs)
        if func in (Tensor.backward, torch.autograd.backward, torch.autograd.grad):
            return self.backward(func, args, kwargs)
        if kwargs.get("device") is not None:
            return self.make(func, name, args, kwargs)
        # C++ asks no mode for the devices of what it makes on the way; Python does.
        inner = contextlib.nullcontext() if isinstance(func, FunctionType) else gpu.where(gpu.among(args, kwargs))
        with inner:
            return func(*args, **kwargs)

    def make(self, func: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        """A function that is told a device, called for the CPU, and its results put there."""
        device = self.gpu.known(kwargs["device"])
        kwargs["device"] = CPU if device.type == "cuda" else device
        with self.gpu.where(device):
            result = func(*args, **kwargs)
        if name in ("tensor", "as_tensor", "new_tensor", "asarray") and device.type == "cuda":
            self.gpu.wait("copy to the device")
        for tensor in _tensors(result):
            self.gpu.put(tensor, device)
        return result

    def move(self, tensor: Tensor, name: str, rest: list[Any], kwargs: dict[str, Any]) -> Tensor:
        """`Tensor.to`, `.cuda` and `.cpu`."""
        gpu, here = self.gpu, self.gpu.of(tensor)
        device = CPU if name == "cpu" else kwargs.pop("device", None)
        if name == "cuda":
            device = rest.pop(0) if rest and device is None else "cuda" if device is None else device
        if name == "to" and device is None and rest and isinstance(rest[0], (str, int, torch.device)):
            device = rest.pop(0)
        elif name == "to" and rest and isinstance(rest[0], Tensor):
            device, rest[0] = gpu.of(rest[0]), rest[0].dtype
        there = here if device is None else gpu.known(device)
        copy, late = kwargs.pop("copy", False), kwargs.pop("non_blocking", False)
        rest = [argument for argument in rest if not isinstance(argument, bool)]
        result = Tensor.to(tensor, *rest, **kwargs) if name == "to" and (rest or kwargs) else tensor
        if there != here:
            if there.type == "cpu":
                gpu.wait("copy to the host")
            elif here.type == "cpu" and not (late and getattr(tensor.untyped_storage(), "_pinned", False)):
                gpu.wait("copy to the device")
        elif not copy:
            return result
        is_same = result.untyped_storage()._cdata == tensor.untyped_storage()._cdata
        return gpu.put(result.clone() if is_same else result, there)

    def backward(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Gradients; what hooks call inside is seen, too, which torch would not do in a mode."""
        if func is Tensor.backward:
            names = ("gradient", "retain_graph", "create_graph", "inputs")
            arguments = dict(zip(names, args[1:], strict=False)) | kwargs
            func, args, kwargs = torch.autograd.backward, (args[0], arguments.pop("gradient", None)), arguments
        inside = mock.patch("torch.autograd.has_torch_function", lambda *_: False)
        with self.gpu.where(self.gpu.among(args)), self, inside:
            return func(*args, **kwargs)


class _Operators(TorchDispatchMode):
    """Every operator below autograd: where its tensors are, and what it costs."""

    def __init__(self, gpu: Gpu) -> None:
        super().__init__()
        self.gpu = gpu

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        gpu, kwargs, name = self.gpu, dict(kwargs or {}), func._schema.name.split("::")[1]
        kwargs |= {"pin_memory": False} if kwargs.get("pin_memory") else {}
        implicit = torch._C.DispatchKey.CompositeImplicitAutograd
        is_composite = torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")
        if (
            is_composite and name not in FREE and name != "one_hot"
        ):  # whose Python asks for devices where no mode answers
            with gpu.where(gpu.among(args, kwargs)), self:
                return func._op_dk(implicit, *args, **kwargs)
        tensors = _tensors(args, kwargs)
        device = self.device_of(func, name, args, tensors)
        storages = {tensor.untyped_storage()._cdata for tensor in tensors if _has_storage(tensor)}
        result = func(*args, **kwargs)
        if name == "lift_fresh":
            return result
        for place, tensor in enumerate(_tensors(result)):
            if _has_storage(tensor) and tensor.untyped_storage()._cdata not in storages:
                lengths = name in ("_pack_padded_sequence", "_pad_packed_sequence") and place == 1
                gpu.put(tensor, CPU if lengths else device)
        if device.type == "cuda":
            self.count(func, name, args, tensors)
        if gpu.captured is not None:
            gpu.captured.operators.append((func, args, kwargs, result))
        return result

    def device_of(self, func: Any, name: str, args: Any, tensors: list[Tensor]) -> torch.device:
        """Where an operator computes.

        Raises:
            RuntimeError: Its tensors are not all there. A number may be on the CPU, and so may indices and lengths.
        """
        gpu, devices = self.gpu, [self.gpu.of(tensor) for tensor in tensors]
        if not tensors or name in LIKE:
            return gpu.making if not tensors or gpu.making.type == "cuda" else devices[0]
        if name == "_pack_padded_sequence" and devices[1].type == "cuda":
            raise RuntimeError(
                f"'lengths' argument should be a 1D CPU int64 tensor, but got 1D {devices[1]} Long tensor"
            )
        meeting = {device for device, tensor in zip(devices, tensors, strict=True) if tensor.dim() or device != CPU}
        if len(meeting) <= 1:
            return next(iter(meeting), CPU)
        if name in ("copy_", "_copy_from", "_to_copy"):
            gpu.wait("copy to the device" if devices[0].type == "cuda" else "copy to the host")
            return devices[0]
        if name in INDEXED and devices[0].type == "cuda":
            indices, values = _tensors(args[1]), [tensor for tensor in _tensors(args[2:]) if tensor.dim()]
            if {gpu.of(index) for index in indices} <= {devices[0], CPU} and {*map(gpu.of, values)} <= {devices[0]}:
                gpu.wait("copy of an index to the device", sum(gpu.of(index) == CPU for index in indices))
                return devices[0]
        if name in (
            "_pack_padded_sequence",
            "_pad_packed_sequence",
            "lstm",
            "gru",
            "_has_compatible_shallow_copy_type",
        ):
            return devices[0]
        names, shapes = " and ".join(sorted(map(str, meeting))), [(tuple(t.shape), t.dtype) for t in tensors]
        raise RuntimeError(f"Expected all tensors to be on the same device, but found {names} in {func}: {shapes}")

    def count(self, func: Any, name: str, args: Any, tensors: list[Tensor]) -> None:
        """Count an operator on a device.

        Raises:
            RuntimeError: CUDA does not have it, or not of integers.
        """
        if func.namespace != "aten" or name not in _cuda_operators() | OF_A_CPU:
            raise NotImplementedError(f"Could not run '{func}' with arguments from the 'CUDA' backend")
        if name in INTEGER_PRODUCTS and not tensors[0].is_floating_point() and not tensors[0].is_complex():
            raise RuntimeError(f'"{name}_cuda" not implemented for {tensors[0].dtype}')
        times = WAITS.get(name, 0)
        if (
            name in INDEXED
        ):  # a mask is made into indices, whose number the host must know, but not to fill with a number
            masks = sum(index.dtype in (torch.bool, torch.uint8) for index in _tensors(args[1]))
            fills = masks == 1 and all(
                t.dim() == 0 and self.gpu.of(t) == CPU for t in _tensors(args[2:3]) or [tensors[0]]
            )
            times = 0 if fills else masks
        if name == "repeat_interleave" and args[1:2] == ():
            times = 1
        if times:
            self.gpu.wait(name, times)
        if name not in FREE:
            self.gpu.kernels[name] += 1


def _has_storage(tensor: Tensor) -> bool:
    """Whether a tensor has memory that may be shared; weights that oneDNN has packed have none."""
    return tensor.layout == torch.strided and not tensor.is_mkldnn


@contextlib.contextmanager
def pretended_cuda(devices: int = 1, free: int = 78 << 30) -> Iterator[Gpu]:
    """This machine has CUDA devices inside of the block, like those of an H100.

    Args:
        devices: How many.
        free: Bytes of memory that are free on each.
    """
    gpu = Gpu(devices)
    card = SimpleNamespace(name="pretended", major=9, minor=0, total_memory=80 << 30, multi_processor_count=132)
    asking, dtype_of, autocast = torch.is_autocast_enabled, torch.get_autocast_dtype, torch.autocast.__init__

    def set_device(device: Any) -> None:
        gpu.current = gpu.known(device).index or 0

    def on_cpu(kind: str) -> str:
        return "cpu" if kind == "cuda" else kind

    def autocast_on_cpu(self: Any, kind: str, dtype: Any = None, *args: Any, **kwargs: Any) -> None:
        autocast(self, on_cpu(kind), torch.bfloat16 if kind == "cuda" and dtype is None else dtype, *args, **kwargs)

    def do_nothing(*_: object, **__: object) -> None:
        return None

    def random_state(*_: object) -> Tensor:
        return torch.zeros(16, dtype=torch.uint8)

    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "device_count": lambda: devices,
        "current_device": lambda: gpu.current,
        "set_device": set_device,
        "_exchange_device": lambda index: gpu.current,
        "_maybe_exchange_device": lambda index: gpu.current,
        "_lazy_init": do_nothing,
        "is_bf16_supported": lambda including_emulation=True: True,
        "get_device_properties": lambda *_: card,
        "get_device_name": lambda *_: card.name,
        "get_device_capability": lambda *_: (card.major, card.minor),
        "mem_get_info": lambda *_: (free, 80 << 30),
        "memory_allocated": lambda *_: 0,
        "memory_reserved": lambda *_: 0,
        "max_memory_reserved": lambda *_: 0,
        "reset_peak_memory_stats": do_nothing,
        "CUDAGraph": functools.partial(_Graph, gpu),
        "graph": lambda graph, **_: graph.capturing(),
        "graph_pool_handle": lambda: (0, 0),
        "Stream": mock.Mock,
        "stream": lambda _: contextlib.nullcontext(),
        "max_memory_allocated": lambda *_: 0,
        "empty_cache": do_nothing,
        "synchronize": lambda *_: gpu.wait("synchronize"),
        "current_stream": lambda *_: mock.Mock(),
        "is_current_stream_capturing": lambda: False,
        "get_rng_state": random_state,
        "get_rng_state_all": lambda: [random_state()] * devices,
        **dict.fromkeys(("set_rng_state", "set_rng_state_all", "manual_seed", "manual_seed_all"), do_nothing),
    }
    accelerator = {
        "is_available": lambda: True,
        "device_count": lambda: devices,
        "current_accelerator": lambda *_, **__: torch.device("cuda"),
        "current_device_index": lambda: gpu.current,
        "current_stream": lambda *_: mock.Mock(is_capturing=lambda: False),
    }
    with contextlib.ExitStack() as stack:
        for module, of_module in ((torch.cuda, answers), (torch.accelerator, accelerator)):
            stack.enter_context(mock.patch.multiple(module, **of_module))
        of_random = {name: answer for name, answer in answers.items() if "rng_state" in name}
        stack.enter_context(mock.patch.multiple(torch.cuda.random, **of_random))
        stack.enter_context(mock.patch.object(torch.autocast, "__init__", autocast_on_cpu))
        asks = lambda kind=None: asking() if kind is None else asking(on_cpu(kind))  # noqa: E731
        stack.enter_context(mock.patch.object(torch, "is_autocast_enabled", asks))
        stack.enter_context(mock.patch.object(torch, "get_autocast_dtype", lambda kind: dtype_of(on_cpu(kind))))
        stack.enter_context(mock.patch.object(DefaultDeviceType, "_default_device_type", "cuda"))
        for state in (PartialState, AcceleratorState):  # which may have asked before
            stack.enter_context(mock.patch.object(state, "_shared_state", {}))
        stack.enter_context(_Operators(gpu))
        stack.enter_context(_Python(gpu))
        yield gpu
