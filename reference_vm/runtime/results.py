"""Results: delivered to the caller as NumPy arrays that are its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reference_vm.bytecode.executable import DataTypeSlot
from reference_vm.devices.api import Tensor
from reference_vm.diagnostics import DataError
from reference_vm.runtime.frames import Run
from reference_vm.runtime.holds import Closure, Data
from reference_vm.runtime.log import Template, Timing
from reference_vm.runtime.nesting import Inner, Leaf, rebuilt
from reference_vm.runtime.trace import Cause
from reference_vm.types import HOST


def deliver(value: Any, run: Run, data_types: Sequence[DataTypeSlot]) -> Any:
    """Return a fresh array for each tensor, nested in tuples as ``value`` is.

    A value of a data type is a tuple of its constructor's name and its fields, a shape value an
    array of i64. What lies elsewhere than on the host is one copy with the cause ``deliver`` in
    the log.

    Raises:
        DataError: It holds a function, which nothing outside of the program can call.
    """

    def look(found: Any) -> Leaf | Inner[Any]:
        match found:
            case Tensor():
                return Leaf(_download(found, run))
            case Data(data_type=index, tag=tag, fields=fields):
                name = data_types[index].constructors[tag].name
                return Inner(fields, lambda made: (name, *made))
            case Closure():
                message = "the result is a function, which only the program itself can call"
                raise DataError("function-result", message)
            case (int(), *_):
                return Leaf(np.asarray(found, np.int64))
            case _:
                return Inner(found, lambda made: made)

    return rebuilt(value, look)


def _download(tensor: Tensor, run: Run) -> Any:
    device = tensor.buffer.device
    start = run.now(device)
    array = device.download(tensor)
    if run.log is not None and device.name != HOST:
        timing = None if start is None else Timing(start, (run.now(device) or start) - start)
        template = Template("copy", "copy", str(HOST), cause=Cause("deliver", None))
        run.log.append((template, (tensor.use,), (), timing, None))
    return array
