"""Room in the GPU's memory, which processes share out among themselves: what needs much at once would not
fit beside another one. As src/tune/gpu_memory.cpp does it."""

import ctypes
import functools
import time

from fact import _gpu_lock

SHARES = 8
USUAL_BYTES = 144 << 30  # of a GPU that cannot be asked
LITTLE = 1 / 8  # of a share: any number of these fits beside the rest
PAUSE = 0.005  # seconds between two looks
# Times the size of a module's weights and inputs: what its results take, and what computing them in f64
# does.
TIMED, COMPARED = 4, 8


class Memory:
    """The shares of one process, which end with it. Whoever also wants a turn takes memory first. On a CPU
    nothing is waited for. `what` names the work in the log."""

    def __init__(self, device="cuda", what=""):
        self._file = _gpu_lock.lock_file("memory") if str(device).startswith("cuda") else None
        self._what = what
        self._held = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()

    def take(self, tensors, times):
        """Waits until there is room for so many times these tensors, and lets go of its own shares first.
        One process at a time collects what becomes free, so that none waits for ever."""
        self.release()
        needed = shares(tensors, times) if self._file else 0
        if not needed:
            return
        self._use = _gpu_lock.Use()
        said = []

        def waiting():
            if not said:
                _gpu_lock.say("waiting for other runs to leave room on the GPU")
            said.append(True)

        gate = _gpu_lock.take(self._file, _gpu_lock.EXCLUSIVE, waiting)
        try:
            free = [self._file.with_name(f"{self._file.name}.{i}") for i in range(SHARES)]
            while True:
                for file in list(free):
                    if len(self._held) < needed and (held := _gpu_lock.try_take(file, _gpu_lock.EXCLUSIVE)) is not None:
                        self._held.append(held)
                        free.remove(file)
                if len(self._held) == needed:
                    break
                waiting()
                time.sleep(PAUSE)
        except BaseException:
            self._shrink(0)
            raise
        finally:
            _gpu_lock.unlock(gate)
        self._use.begin()
        self._taken = needed

    def keep(self, tensors, times):
        """Gives back what is not needed for so many times these."""
        self._shrink(max(1, shares(tensors, times)))

    def release(self):
        if self._held:
            self._shrink(0)
            self._use.end(f"memory {self._taken}/{SHARES}", self._what)

    def _shrink(self, count):
        while len(self._held) > count:
            _gpu_lock.unlock(self._held.pop())


def shares(tensors, times):
    """How many shares so many times these tensors are; 0 if they are too few to count."""
    size, share = times * sum(tensor.numel() * tensor.element_size() for tensor in tensors), share_bytes()
    return 0 if size < LITTLE * share else min(SHARES, -(-size // share))


def share_bytes():
    """One part is left for contexts, code and what is too little to count."""
    return gpu_bytes() // (SHARES + 1)


@functools.cache
def gpu_bytes():
    """The memory of the GPU, free or not. The driver is asked, not torch, which would create a context
    while others time something."""
    size, device = ctypes.c_size_t(), ctypes.c_int()
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        failed = (
            driver.cuInit(0)
            or driver.cuDeviceGet(ctypes.byref(device), 0)
            or driver.cuDeviceTotalMem_v2(ctypes.byref(size), device)
        )
    except (OSError, AttributeError):
        failed = True
    return USUAL_BYTES if failed else size.value
