"""Results: delivered to the caller as NumPy arrays that are its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from reference_vm.devices.api import Tensor
from reference_vm.runtime.frames import Run
from reference_vm.runtime.log import Template, Timing
from reference_vm.runtime.trace import Cause
from reference_vm.types import HOST


def deliver(value: Any, run: Run) -> Any:
    """Return a fresh array for each tensor, nested in tuples as ``value`` is.

    A shape value becomes an array of i64. What lies elsewhere than on the host is one copy with
    the cause ``deliver`` in the log.
    """
    if isinstance(value, Tensor):
        return _download(value, run)
    if isinstance(value, tuple) and value and all(type(v) is int for v in value):
        return np.asarray(value, np.int64)
    return tuple(deliver(v, run) for v in value)


def _download(tensor: Tensor, run: Run) -> Any:
    device = tensor.buffer.device
    start = run.now(device)
    array = device.download(tensor)
    if run.log is not None and device.name != HOST:
        timing = None if start is None else Timing(start, (run.now(device) or start) - start)
        template = Template("copy", "copy", str(HOST), cause=Cause("deliver", None))
        run.log.append((template, (tensor.use,), (), timing, None))
    return array
