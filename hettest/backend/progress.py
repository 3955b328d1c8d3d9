"""What is being done right now, written where it outlives the process: a black box.

The kit runs items of strangers in a process of their own. When that process dies, its last words
are the two lines of its black box: the *step*, which the kit writes, and the backend's *note*::

    progress.step("run 'main'")
    progress.note("kernel matmul -> main/%y on npu:0")

Both cost about a microsecond, and do nothing where no black box is open.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field
from typing import Final, final

_STEP: Final = 256
_NOTE: Final = 768
SIZE: Final = _STEP + _NOTE
"""Bytes of a black box; longer texts are cut."""


@final
@dataclass(frozen=True, slots=True)
class Words:
    """What a black box holds; empty texts where nothing was written."""

    step: str
    note: str

    def __str__(self) -> str:
        """``run 'main', last noted: kernel matmul``."""
        return f"{self.step}, last noted: {self.note}" if self.note else self.step


def read(box: mmap.mmap | bytes) -> Words:
    """Return what was last written to a black box."""
    return Words(_text(box[:_STEP]), _text(box[_STEP:SIZE]))


def _text(slot: bytes) -> str:
    return slot.rstrip(b"\0").decode("utf-8", "replace").rstrip("\N{REPLACEMENT CHARACTER}")


@final
@dataclass
class _Recorder:
    """The one black box of this process, since there is one process to die."""

    box: mmap.mmap | None = field(default=None)

    def write(self, start: int, size: int, text: str) -> None:
        if self.box is not None:
            self.box[start : start + size] = text.encode()[:size].ljust(size, b"\0")


_recorder: Final = _Recorder()


def record_to(box: mmap.mmap | None) -> None:
    """Write from now on to ``box``, which holds `SIZE` bytes; ``None`` to write nowhere."""
    _recorder.box = box


def is_open() -> bool:
    """Whether anything is written, so that what is dear to say need not be said."""
    return _recorder.box is not None


def step(text: str) -> None:
    """Say what the kit asks for now; what the backend noted before is wiped."""
    _recorder.write(0, _STEP, text)
    _recorder.write(_STEP, _NOTE, "")


def note(text: str) -> None:
    """Say what the backend does now; for backends to call, such as before each kernel."""
    _recorder.write(_STEP, _NOTE, text)
