"""Processes that share a GPU use it one at a time: two at once would time each other's kernels.

The file and the way it is locked are those of src/tune/gpu_turn.cpp, whose runs wait for these.
"""

import contextlib
import fcntl
import hashlib
import os
import sys
import time
from pathlib import Path

PAUSE = 0.05  # seconds between two attempts


def lock_file():
    """The same file as the core's: one for each user and set of visible GPUs."""
    # In the order of C++'s temp_directory_path, which is not Python's.
    folder = next(filter(None, map(os.environ.get, ("TMPDIR", "TMP", "TEMP", "TEMPDIR"))), "/tmp")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "all")
    gpus = hashlib.sha256(visible.encode()).hexdigest()[:8]
    return Path(folder) / f"fact-gpu-{os.getuid()}-{gpus}.lock"


class Turn:
    """`with Turn(device):` waits until nobody else uses the GPU, and reserves it; on a CPU it does
    nothing. The lock ends with the process, however that happens."""

    def __init__(self, device="cuda"):
        self._file = lock_file() if str(device).startswith("cuda") else None
        self._descriptor = None

    def __enter__(self):
        if self._file:
            self._take()
        return self

    def __exit__(self, *_):
        if self._descriptor is None:
            return
        # Before the lock is released: the next holder makes a new file.
        self._file.unlink(missing_ok=True)
        # A forked child may have the descriptor too, so that closing it would not be enough.
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        os.close(self._descriptor)
        self._descriptor = None

    @contextlib.contextmanager
    def aside(self):
        """Lets others use the GPU, and its memory that is free, while this process works on the CPU. What
        was launched is waited for first."""
        if self._descriptor is None:
            yield
            return
        import torch

        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        self.__exit__()
        try:
            yield
        finally:
            self._take()

    def _take(self):
        waited = False
        while True:
            descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not waited:
                    print(f"waiting for {_holder(descriptor)} to finish with the GPU", file=sys.stderr, flush=True)
                waited = True
                os.close(descriptor)
                time.sleep(PAUSE)
                continue
            if _is_at(descriptor, self._file):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
                self._descriptor = descriptor
                return
            os.close(descriptor)  # the previous holder has removed this file


@contextlib.contextmanager
def compiling_aside(turn):
    """While Inductor compiles, which takes seconds of the CPU, others may use the GPU. Not for modes
    that time kernels while they compile."""
    from torch._inductor import compile_fx

    compile_here = compile_fx.compile_fx

    def compile_aside(*words, **options):
        with turn.aside():
            return compile_here(*words, **options)

    compile_fx.compile_fx = compile_aside
    try:
        yield
    finally:
        compile_fx.compile_fx = compile_here


def _holder(descriptor):
    text = os.pread(descriptor, 32, 0).decode().strip()
    return f"process {text}" if text else "another process"


def _is_at(descriptor, path):
    """Whether the name still refers to the open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
