"""A program on devices that only keep the books, to go the way of a run once more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast, final

from reference_vm.devices.api import Buffer, DeviceApi, Launchable, Operand, Tensor
from reference_vm.devices.cpu import CpuDevice
from reference_vm.runtime import steps
from reference_vm.runtime.frames import PreparedFunction
from reference_vm.runtime.image import Image


@final
class ShadowDevice:
    """Stands for a device: has its name, and nothing else."""

    def __init__(self, device: DeviceApi) -> None:
        self.name = device.name
        self.data: list[Any] = []
        """What is read next, in order."""

    def launch(
        self, kernel: Launchable, inputs: Sequence[Operand], outputs: Sequence[Tensor | None]
    ) -> Sequence[Tensor | None]:
        return outputs

    def free(self, buffer: Buffer) -> None:
        """Do nothing: there is no memory."""

    def upload(self, array: Any, target: Tensor) -> None:
        """Do nothing: there is no memory."""

    def download(self, source: Tensor) -> Any:
        """Return what was noted of the run; nothing if nothing was."""
        return self.data.pop(0) if self.data else None

    def clock(self) -> int | None:
        return None


@final
class Shadow:
    """The functions of an image on shadows of its devices, made ready when they are asked for."""

    def __init__(self, image: Image) -> None:
        made = [ShadowDevice(d) for d in image.devices]
        self.host = made[image.devices.index(image.host)]
        shadows = tuple(cast("DeviceApi", d) for d in made)
        shown = replace(image, devices=shadows, host=cast("CpuDevice", self.host))
        self._functions = shown.functions = steps.Prepared(shown)

    def __getitem__(self, number: int) -> PreparedFunction:
        return self._functions[number]


__all__ = ["Shadow", "ShadowDevice"]
