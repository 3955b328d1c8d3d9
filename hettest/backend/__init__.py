"""Everything that an implementation needs to be tested: it imports nothing else of the kit.

The names are those of `hettest.backend.protocol`, which loads neither NumPy nor any backend.
"""

from hettest.backend.protocol import (
    PROTOCOL,
    Backend,
    BringsWaivers,
    Copy,
    DeviceAccess,
    DeviceInfo,
    Executable,
    Execution,
    Inexpressible,
    Memory,
    Mode,
    Observation,
    OpensDevices,
    Options,
    Program,
    Purpose,
    Reading,
    Rejected,
    Synchronizes,
    TellsNotes,
    Timing,
)

__all__ = [
    "PROTOCOL",
    "Backend",
    "BringsWaivers",
    "Copy",
    "DeviceAccess",
    "DeviceInfo",
    "Executable",
    "Execution",
    "Inexpressible",
    "Memory",
    "Mode",
    "Observation",
    "OpensDevices",
    "Options",
    "Program",
    "Purpose",
    "Reading",
    "Rejected",
    "Synchronizes",
    "TellsNotes",
    "Timing",
]
