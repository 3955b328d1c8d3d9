"""Arrays that lie on one device and are computed with there, for tests that use a device by hand.

::

    xp = Namespace(open_device(DeviceName("sim", 0)))
    a = xp.asarray([1.0, 2.0])
    b = xp.exp(a) + 1            # two launches on sim:0, nothing on the host
    b.get()                      # the one way back

Nothing is copied to the host on the quiet: NumPy's functions refuse these arrays.
"""

from reference_vm.arrays.array import DeviceArray
from reference_vm.arrays.namespace import Namespace

__all__ = ["DeviceArray", "Namespace"]
