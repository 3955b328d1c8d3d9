"""Which files a test may read and write, and a watch on what a process touches.

A process is watched by an audit hook, which sees what opens, lists, makes, moves or removes a file,
and by wrappers around the functions of `os` that ask whether a file is there, which raise no audit
event. Only what Python does is seen, and what an installed package looks for of its own accord is
left out, but not what it writes. This module imports nothing of ours, so that `sitecustomize`
can load it in every process that a test starts.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from types import FrameType
from typing import Any, Final, final

SYSTEM: Final = (
    *("/proc", "/sys", "/dev", "/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/opt", "/run"),
    *("/System", "/Library", "/private/etc"),
)
"""What belongs to the machine: everybody may look there, nobody may write."""

WRITTEN: Final = frozenset(("/dev/full", "/dev/null", "/dev/ptmx", "/dev/tty"))
"""Files that may be opened for writing, since nothing is kept of it."""

_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGING: Final[dict[str, dict[int, int | None]]] = {
    "os.chmod": {0: 2},
    "os.chown": {0: 3},
    "os.link": {1: 3},
    "os.mkdir": {0: 2},
    "os.remove": {0: 1},
    "os.rename": {0: 2, 1: 3},
    "os.rmdir": {0: 1},
    "os.setxattr": {0: None},
    "os.symlink": {1: 2},
    "os.truncate": {0: None},
    "os.utime": {0: 3},
}
"""Audit events: which arguments are paths, and which says the folder that a path starts from."""

_LISTING: Final = ("os.listdir", "os.scandir")
_ASKING: Final = ("stat", "lstat", "access", "readlink")
_STANDARD: Final = f"{sysconfig.get_path('stdlib')}/"


@final
@dataclass(frozen=True)
class Places:
    """Folders, each without a slash at its end."""

    read: tuple[str, ...]
    written: tuple[str, ...]
    """May be read as well."""

    def may_write(self, path: str) -> bool:
        return path in WRITTEN or _is_in(path, self.written) or "__pycache__" in path

    def may_read(self, path: str) -> bool:
        """Whether a path is in one of the places, or above one: whoever looks for it comes by."""
        if _is_in(path, self.written) or _is_in(path, self.read):
            return True
        above = path.rstrip("/") + "/"
        return any(place.startswith(above) for place in (*self.read, *self.written))


def _is_in(path: str, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


def places_of_python() -> tuple[str, ...]:
    """Return the folders that the interpreter and its packages lie in."""
    found = {sys.prefix, sys.base_prefix, sys.exec_prefix, *sysconfig.get_paths().values()}
    return tuple(sorted(found | {os.path.realpath(place) for place in found}))


def watch(places: Callable[[], Places], note: Callable[[str], None]) -> None:
    """Call ``note`` with a sentence whenever this process touches a file outside of its places.

    It cannot be ended: an audit hook stays.
    """
    watcher = _Watcher(places, note)
    sys.addaudithook(watcher.hear)
    for name in _ASKING:
        function = getattr(os, name)
        asking = _asking(function, watcher.look)
        for able in (os.supports_dir_fd, os.supports_follow_symlinks, os.supports_fd):
            if function in able:
                able.add(asking)
        setattr(os, name, asking)
    opening = _opening(os.open, watcher)
    os.supports_dir_fd.add(opening)
    setattr(os, "open", opening)  # noqa: B010 - mypy takes no other function for it


@final
class _Watcher:
    def __init__(self, places: Callable[[], Places], note: Callable[[str], None]) -> None:
        self.places = places
        self.note = note
        self.own = threading.local()
        """Says of each thread whether it is looking: what it touches meanwhile is its own."""

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            writes = isinstance(flags, int) and flags & _WRITING
            self.look(path, "wrote" if writes else "read", writes=bool(writes))
        elif event in _CHANGING:
            for position, folder in _CHANGING[event].items():
                if folder is None or arguments[folder] in (-1, None):
                    self.look(arguments[position], f"changed ({event})", writes=True)
        elif event in _LISTING:
            self.look(arguments[0], "listed", writes=False)

    def look(self, path: object, doing: str, *, writes: bool) -> None:
        if self.is_busy or not isinstance(path, str | bytes | os.PathLike):
            return  # a descriptor was opened before
        with self.apart():
            self._look(path, doing, writes=writes)

    def _look(self, path: str | bytes | os.PathLike[Any], doing: str, *, writes: bool) -> None:
        try:
            if not writes and _is_a_package_asking():
                return
            full = os.path.normpath(os.path.join(os.getcwd(), os.fsdecode(path)))
            places = self.places()
            if not (places.may_write(full) if writes else places.may_read(full)):
                self.note(f"{doing} {full}\n{_where()}")
        except (OSError, ValueError):
            return  # the folder is gone, or the path cannot be: nothing is there to be touched

    @property
    def is_busy(self) -> bool:
        return getattr(self.own, "busy", False)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Do something that is not looked at."""
        self.own.busy = True
        try:
            yield
        finally:
            self.own.busy = False


def _asking(function: Callable[..., Any], look: Callable[..., None]) -> Callable[..., Any]:
    @wraps(function)
    def ask(path: Any, *args: Any, **options: Any) -> Any:
        if options.get("dir_fd") is None:
            look(path, "looked for", writes=False)
        return function(path, *args, **options)

    return ask


def _opening(function: Callable[..., int], watcher: _Watcher) -> Callable[..., int]:
    """Return `os.open` that looks at a path within an open folder, which its event leaves out."""

    @wraps(function)
    def open_(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is None or watcher.is_busy:
            return function(path, flags, mode, dir_fd=dir_fd)
        with watcher.apart():
            try:
                folder = os.readlink(f"/proc/self/fd/{dir_fd}")
            except OSError:
                folder = None  # there is no /proc, or no such descriptor
        if folder is not None:
            whole = os.path.join(folder, os.fsdecode(path))
            watcher.hear("open", (whole, None, flags))
        with watcher.apart():
            return function(path, flags, mode, dir_fd=dir_fd)

    return open_


def _is_a_package_asking() -> bool:
    """Whether an installed package looks for a file, of its own accord: that is not the test's."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if _is_of_a_package(file):
            return True
        if not file.startswith(("<frozen", _STANDARD)) and file != __file__:
            return False
        frame = frame.f_back
    return False


def _is_of_a_package(file: str) -> bool:
    return "/site-packages/" in file or "/dist-packages/" in file


def _where() -> str:
    """Return the last lines that led here, without those of installed packages and this module."""
    frames = traceback.extract_stack()
    ours = [
        frame
        for frame in frames
        if not (
            _is_of_a_package(frame.filename) or frame.filename.startswith((__file__, "<frozen"))
        )
    ]
    return "\n".join(f"    {f.filename}:{f.lineno} in {f.name}" for f in ours[-4:])
