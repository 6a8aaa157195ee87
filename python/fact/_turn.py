"""Processes that share a GPU use it in turns: two at once would time each other's kernels. Where nothing
is timed they use it side by side, as far as its memory suffices.

Whoever wants both takes memory first.
"""

import contextlib
import sys

from fact._gpu_lock import EXCLUSIVE, SHARED, GpuLock

# Of a module's weights and inputs. What runs beside each other with them, in f64 too, takes about eight
# times as much.
LITTLE_BYTES, SOME_BYTES = 256 << 20, 1 << 30


class Turn:
    """`with Turn(device):` waits until nobody times anything on the GPU, and until it ends nobody does;
    with kind=EXCLUSIVE nobody else uses the GPU at all. On a CPU it does nothing. `what` names the work
    in the log."""

    def __init__(self, device="cuda", what="", kind=SHARED):
        self._lock = GpuLock("turn", what) if str(device).startswith("cuda") else None
        self._kind = kind

    @property
    def kind(self):
        """How this process uses the GPU now: SHARED, EXCLUSIVE or None."""
        return self._lock and self._lock.kind

    def __enter__(self):
        if self._lock:
            self._lock.take(self._kind)
        return self

    def __exit__(self, *_):
        self.switch(None)

    def switch(self, kind):
        """Goes on with another kind of use, others may have the GPU in between; None: without it, and
        without its memory that is free."""
        if not self._lock or kind == self._lock.kind:
            return
        if self._lock.kind:
            _settle(give_back=kind is None)
            self._lock.release()
        if kind:
            self._lock.take(kind)

    def alone(self):
        """Nobody else uses the GPU meanwhile, so that something may be timed."""
        return self._using(EXCLUSIVE)

    def aside(self):
        """Lets others use the GPU while this process works on the CPU."""
        return self._using(None)

    @contextlib.contextmanager
    def _using(self, kind):
        before = self.kind
        self.switch(kind)
        try:
            yield
        finally:
            self.switch(before)


class Memory:
    """`with Memory(device, tensors):` waits until the GPU's memory has room for what is computed with
    these: little is never waited for, and nobody who needs much finds another one, or any who needs
    some. On a CPU it does nothing."""

    def __init__(self, device="cuda", tensors=(), what=""):
        self._lock = GpuLock("memory", what) if str(device).startswith("cuda") else None
        self._tensors = tensors

    def __enter__(self):
        self.take(self._tensors)
        return self

    def __exit__(self, *_):
        if self._lock:
            self._lock.release()

    def take(self, tensors):
        """For these, unless it has room for others already. Not while the GPU itself is held: whoever has
        the memory may be waiting for that."""
        size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        if self._lock and not self._lock.kind and size > LITTLE_BYTES:
            self._lock.take(SHARED if size <= SOME_BYTES else EXCLUSIVE)


@contextlib.contextmanager
def compiling_aside(turn):
    """While Inductor compiles, which takes seconds of the CPU, others may use the GPU. What it times then,
    and when kernels first run, it times alone; where that cannot be told apart, all that follows the
    compilation runs alone. Not for modes that time kernels in other processes."""
    from torch._inductor import compile_fx

    compile_here = compile_fx.compile_fx
    before = turn.kind

    def compile_aside(*words, **options):
        turn.switch(None)
        try:
            return compile_here(*words, **options)
        finally:
            turn.switch(after)

    compile_fx.compile_fx = compile_aside
    try:
        with _inductor_times_alone(turn) as apart:
            after = before if apart else before and EXCLUSIVE
            yield
    finally:
        compile_fx.compile_fx = compile_here
        turn.switch(before)


@contextlib.contextmanager
def _inductor_times_alone(turn):
    """Has Inductor time kernels alone. False if this torch has another way of timing them."""
    try:
        from torch._inductor.runtime.benchmarking import benchmarker

        measure = benchmarker.benchmark_gpu
    except (ImportError, AttributeError):
        yield False
        return

    def measure_alone(*words, **options):
        with turn.alone():
            return measure(*words, **options)

    benchmarker.benchmark_gpu = measure_alone
    try:
        yield True
    finally:
        del benchmarker.benchmark_gpu  # the method of its class is what was there


def _settle(give_back):
    """Waits for what this process launched, if it has used the GPU. If that fails nothing of it runs any
    more, and whoever uses the results is told."""
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_initialized():
        with contextlib.suppress(Exception):
            torch.cuda.synchronize()
            if give_back:
                torch.cuda.empty_cache()
