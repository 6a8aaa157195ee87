"""Processes that share a GPU use it in turns: two at once would time each other's kernels. Where nothing
is timed they use it side by side, as far as its memory suffices (_gpu_memory.py)."""

import contextlib
import sys

from fact import _gpu_lock
from fact._gpu_lock import EXCLUSIVE, SHARED

LONG_TURN = 1  # seconds, as kLongTurn in torch/turns.cpp


class Turn:
    """`with Turn(device):` waits until nobody times anything on the GPU, and until it ends nobody does;
    with kind=EXCLUSIVE nobody else uses the GPU at all. On a CPU it does nothing. `what` names the work
    in the log."""

    def __init__(self, device="cuda", what="", kind=SHARED):
        self.kind = None  # how this process uses the GPU now: SHARED, EXCLUSIVE or None
        self._file = _gpu_lock.lock_file("turn") if str(device).startswith("cuda") else None
        self._what, self._first = what, kind
        self._said = False

    def __enter__(self):
        self.switch(self._first)
        return self

    def __exit__(self, *_):
        self.switch(None)

    def switch(self, kind):
        """Goes on with another kind of use, others may have the GPU in between; None: without it, and
        without its memory that is free."""
        if not self._file or kind == self.kind:
            return
        if self.kind:
            _settle(give_back=kind is None)
            self._leave()
        if kind:
            self._use = _gpu_lock.Use()
            self._descriptor = _gpu_lock.take(self._file, kind, self._waiting)
            self._use.begin()
            self.kind = kind

    def rest(self):
        """Lets those go first who wait to time something, if this process has shared the GPU for long."""
        if self.kind == SHARED and self._use.seconds() > LONG_TURN:
            _settle(give_back=False)
            self._leave()
            self.switch(SHARED)

    def alone(self):
        """Nobody else uses the GPU meanwhile, so that something may be timed."""
        return self._using(EXCLUSIVE)

    def aside(self):
        """Lets others use the GPU while this process works on the CPU."""
        return self._using(None)

    @contextlib.contextmanager
    def then(self, kind):
        """Goes on with this kind of use afterwards; on Ctrl-C without the GPU, since whoever ends must not
        wait for others once more."""
        try:
            yield
        except Exception:
            self.switch(kind)
            raise
        except BaseException:
            self.switch(None)
            raise
        self.switch(kind)

    def _leave(self):
        before, self.kind = self.kind, None
        _gpu_lock.unlock(self._descriptor)
        self._use.end(before, self._what)

    def _waiting(self):
        if not self._said:
            _gpu_lock.say(f"waiting for {_gpu_lock.holder(self._file)} to finish with the GPU")
        self._said = True

    @contextlib.contextmanager
    def _using(self, kind):
        before = self.kind
        self.switch(kind)
        with self.then(before):
            yield


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
        with turn.then(after):
            return compile_here(*words, **options)

    compile_fx.compile_fx = compile_aside
    with turn.then(before):
        try:
            with _inductor_times_alone(turn) as apart:
                after = before if apart else before and EXCLUSIVE
                yield
        finally:
            compile_fx.compile_fx = compile_here


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
