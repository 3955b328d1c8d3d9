"""A compiled program on open devices, ready to be run as often as one likes.

    session = Session(program)
    result = session.run("main", a, b, c)
    session.trace                            # what the last run did

Arguments are NumPy arrays, nested in tuples as the parameters' types say; results are fresh NumPy
arrays. A run that fails raises `ExecutionError`, gives back all that it allocated, and leaves the
session usable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, final

import numpy as np

from reference_vm import linking
from reference_vm.bytecode.executable import FunctionCode
from reference_vm.compiler import collector_at_rest
from reference_vm.devices.api import DeviceApi, MemoryStatistics, Tensor, nbytes_of
from reference_vm.devices.catalog import open_device
from reference_vm.devices.cpu import CpuDevice
from reference_vm.devices.faults import DeviceError, DeviceUnavailable
from reference_vm.diagnostics import CompileError, ExecutionError, catalog
from reference_vm.options import read_budgets
from reference_vm.program.program import Program
from reference_vm.runtime import steps
from reference_vm.runtime.arguments import DeviceArray
from reference_vm.runtime.faults import located
from reference_vm.runtime.frames import Run
from reference_vm.runtime.image import Image, place_constants
from reference_vm.runtime.intermediates import Intermediates
from reference_vm.runtime.log import PathLog
from reference_vm.runtime.machine import Observer, run_function
from reference_vm.runtime.native.choice import native_executor, without_native
from reference_vm.runtime.trace import Trace
from reference_vm.types import DeviceName, DType
from reference_vm.types.arrays import from_numpy

if TYPE_CHECKING:  # they load LLVM, which need not be installed
    from reference_vm.runtime.native.executor import NativeExecutor


@final
class Session:
    """A program, loaded.

    ``trace=False`` runs without noting anything, for the last bit of speed. ``checked=True``
    poisons memory whose value has died and what results are about to overwrite, so that a read of
    it shows. ``interpreter=True`` runs the readable definition of the bytecode instead of the
    native loop, which does the same; so does every run that is watched (`run`). ``memory`` is what
    may be in use on a device at once, by role or device: ``"host=1MiB,sim:0=64KiB"``, or a mapping
    to bytes; otherwise it is what the device, or the machine, can give.
    """

    def __init__(
        self,
        program: Program,
        *,
        trace: bool = True,
        checked: bool = False,
        interpreter: bool = False,
        memory: str | Mapping[str, int] = "",
    ) -> None:
        if not isinstance(program, Program):
            how = "compile it first, reference_vm.compile(module)"
            raise CompileError(catalog.invalid_option("program", program, "a Program", how))
        self.program = program
        self._traced = trace
        self._checked = checked
        self._log: PathLog | None = None
        self._ran_natively = False
        self._load_log = PathLog()
        used = (*program.executable.devices, *program.device_map.devices)
        budgets = read_budgets(memory, program.device_map, used)
        self._devices = {name: _open(name, budgets.get(name)) for name in used}
        self._image = self._load()
        self._reasons = without_native(program.executor, interpreter, program.proven)
        self._shut_out = 0
        """How many runs found the native executor busy."""

        self._native = (
            None if self._reasons else native_executor(self._image, traced=trace, checked=checked)
        )
        self.intermediates: Mapping[str, Any] | None = None
        """What the last run computed, by source variable, if it was run with ``keep=True``."""

    @collector_at_rest()
    def _load(self) -> Image:
        executable = self.program.executable
        devices = tuple(self._devices[name] for name in executable.devices)
        host = devices[0]
        assert isinstance(host, CpuDevice), "the host is the first device of every executable"
        primitives = self.program.primitives
        kernels = linking.link(executable.kernels, primitives, self.program.executor)
        told = linking.shape_functions(primitives)
        constants = place_constants(executable, devices, self.program.weights, self._load_log)
        proven = self.program.proven
        image = Image(executable, devices, host, kernels, told, constants, proven=proven)
        image.functions = steps.Prepared(image)
        return image

    def run(
        self,
        entry: str,
        *args: Any,
        keep: bool = False,
        profile: bool = False,
        observer: Observer | None = None,
    ) -> Any:
        """Run an entry.

        Args:
            entry: Its name.
            args: NumPy arrays, nested as the parameters are.
            keep: Also gather `intermediates`, at the price of speed.
            profile: Wait for each kernel and copy, and time it: by the device's clock, or by the
                host's where it has none. Otherwise only devices with a clock are timed.
            observer: Told of every instruction, in place of what ``keep`` has watch.

        Raises:
            ExecutionError: There is no such entry, an argument does not fit its parameter, or the
                run failed.
        """
        code = self.entry(entry)
        native = None if keep or profile or observer else self._native
        if native is None:
            return self._interpreted(code, args, keep, profile, observer)
        me = object()
        try:
            if native.busy.setdefault("run", me) is me:
                return self._run_native(native, code, args)
        finally:  # calls nothing, so that no interrupt keeps it from being done
            if "run" in native.busy and native.busy["run"] is me:
                del native.busy["run"]
        self._shut_out += 1
        return self._interpreted(code, args, keep, profile, observer)

    def _interpreted(
        self,
        code: FunctionCode,
        args: tuple[Any, ...],
        keep: bool,
        profile: bool,
        observer: Observer | None,
    ) -> Any:
        self._ran_natively = False
        log = self._log = PathLog() if self._traced else None
        kept = Intermediates() if keep and observer is None else None
        for device in self._devices.values():
            device.reset_peak()
        try:
            watching = observer or kept
            run = Run(log, self._checked, profile)
            return run_function(self._image, code, args, run, watching)
        finally:
            self.intermediates = kept.found if kept else None

    def _run_native(self, native: NativeExecutor, code: FunctionCode, args: tuple[Any, ...]) -> Any:
        self.intermediates = self._log = None
        for device in self._devices.values():
            device.reset_peak()
        self._ran_natively = True
        return native.run(code, args)

    @property
    def notes(self) -> tuple[str, ...]:
        """Why runs are not native, one sentence each; empty if all of them were, and will be."""
        if not self._shut_out:
            return self._reasons
        runs = "1 run was" if self._shut_out == 1 else f"{self._shut_out} runs were"
        busy = f"{runs} interpreted, since another thread was running the session"
        return (*self._reasons, busy)

    def entry(self, name: str) -> FunctionCode:
        """Return an entry of the program.

        Raises:
            ExecutionError: There is none of that name.
        """
        functions = self.program.executable.by_name
        code = functions.get(name) if isinstance(name, str) else None
        if code is None or not code.entry:
            entries = tuple(f.name for f in functions.values() if f.entry)
            raise ExecutionError(catalog.unknown_entry(name, entries))
        return code

    def __getitem__(self, entry: str) -> Callable[..., Any]:
        self.entry(entry)
        return lambda *args: self.run(entry, *args)

    @property
    def trace(self) -> Trace:
        """The records of the last run, in issue order; empty if it was not traced.

        While another thread runs the session: some of the records of a run, or none.
        """
        if self._ran_natively and self._native and self._traced:
            return self._native.trace()
        return Trace() if self._log is None else self._log.trace()

    def left_to_python(self) -> Counter[str]:
        """Return what instructions the native executor had Python do so far, and how often.

        The keys are kinds of instructions with what they are for: ``Launch cumulative_sum``.
        """
        return self._native.left() if self._native else Counter()

    @property
    def load_trace(self) -> Trace:
        """The records of loading: constants allocated and copied to where they are read."""
        return self._load_log.trace()

    def synchronize(self) -> None:
        """Wait until every device of the session has done all that it was given."""
        for device in self._devices.values():
            device.synchronize()

    @property
    def devices(self) -> Mapping[str, DeviceApi]:
        """The open devices, by name."""
        return {str(name): device for name, device in self._devices.items()}

    def memory(self) -> Mapping[str, MemoryStatistics]:
        """Return the bytes in use on each device; peaks count from the start of the last run."""
        return {str(name): device.memory() for name, device in self._devices.items()}

    def put(self, array: Any, device: str) -> DeviceArray:
        """Return a copy of an array on a device of this session, to be handed over there.

        Raises:
            ExecutionError: The session has no such device, the array has elements that the
                language has no dtype for, or no memory is left there.
        """
        target = self._device(device)
        data, dtype = _to_put(array)
        shape = data.shape
        try:
            nbytes = nbytes_of(dtype, shape)
            tensor = Tensor(target.allocate(nbytes), 0, dtype, shape, nbytes)
            target.upload(data, tensor)
        except DeviceError as error:
            raise located(error, None) from error
        return DeviceArray(tensor)

    def _device(self, device: str) -> DeviceApi:
        known = ", ".join(map(str, self._devices))
        try:
            name = DeviceName.parse(device) if isinstance(device, str) else None
        except ValueError:
            name = None
        if name is None:
            expected = f"a device of the program: {known}"
            raise ExecutionError(catalog.invalid_option("device", device, expected))
        if name not in self._devices:
            reason = f"the program uses {known} only"
            raise ExecutionError(catalog.device_unavailable(device, reason))
        return self._devices[name]


def _to_put(array: Any) -> tuple[Any, DType]:
    """Return an array to be put on a device, and its elements' dtype."""
    if isinstance(array, np.ma.MaskedArray):
        how = "say what to put there: array.filled(value)"
        raise ExecutionError(catalog.invalid_option("array", array, "an array without mask", how))
    try:
        data = np.asarray(array, order="C")
        return data, from_numpy(data.dtype)
    except (TypeError, ValueError, OverflowError):
        expected = "an array of numbers or bools"
        found = f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else array
        raise ExecutionError(catalog.invalid_option("array", found, expected)) from None


def _open(name: DeviceName, budget: int | None) -> DeviceApi:
    try:
        return open_device(name, budget)
    except DeviceUnavailable as error:
        raise CompileError(catalog.device_unavailable(str(name), error.reason)) from error


__all__ = ["DeviceArray", "Session"]
