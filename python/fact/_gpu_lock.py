"""A lock of the GPU, which several processes may share or one may have for itself.

The files and the way they are locked are those of src/support/shared_lock.cpp and
src/tune/gpu_turn.cpp, whose runs wait for these.
"""

import fcntl
import hashlib
import json
import os
import sys
import time
from pathlib import Path

SHARED, EXCLUSIVE = "shared", "exclusive"
PAUSE = 0.002  # seconds between two attempts: it changes hands many times a second


def lock_file(part):
    """The same file as the core's: one for each user and set of visible GPUs."""
    # In the order of C++'s temp_directory_path, which is not Python's.
    folder = next(filter(None, map(os.environ.get, ("TMPDIR", "TMP", "TEMP", "TEMPDIR"))), "/tmp")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "all")
    gpus = hashlib.sha256(visible.encode()).hexdigest()[:8]
    return Path(folder) / f"fact-gpu-{os.getuid()}-{gpus}.{part}"


class GpuLock:
    """A part of the GPU, "turn" or "memory". `kind` is how it is held, None if it is not. The lock ends
    with the process, however that happens."""

    def __init__(self, part, what=""):
        self.kind = None
        self._part, self._what = part, what
        self._file = lock_file(part)
        self._descriptor = None
        self._said = False

    def take(self, kind):
        """Waits, and says so once. While one waits nobody else gets the lock, so that neither kind waits
        for ever while others of the other kind come and go."""
        self.release()
        asked = time.monotonic()
        gate = self._locked(self._file.with_name(self._file.name + ".gate"), EXCLUSIVE)
        try:
            self._descriptor = self._locked(self._file, kind)
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)
        finally:
            _unlock(gate)
        self.kind = kind
        self._since, self._when = time.monotonic(), time.time()
        self._waited = self._since - asked

    def release(self):
        if self._descriptor is None:
            return
        _unlock(self._descriptor)
        self._descriptor = None
        kind = f"memory, {self.kind}" if self._part == "memory" else self.kind
        self.kind = None
        _log(
            who=os.getpid(),
            kind=kind,
            what=self._what,
            waited_s=self._waited,
            held_s=time.monotonic() - self._since,
            when=self._when,
        )

    def _locked(self, file, kind):
        operation = (fcntl.LOCK_SH if kind == SHARED else fcntl.LOCK_EX) | fcntl.LOCK_NB
        while True:
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(descriptor, operation)
            except BlockingIOError:
                os.close(descriptor)
                self._announce()
                time.sleep(PAUSE)
                continue
            if _is_at(descriptor, file):
                return descriptor
            os.close(descriptor)  # somebody has removed this file

    def _announce(self):
        if not self._said:
            print(f"waiting for {_holder(self._file)} to finish with the GPU", file=sys.stderr, flush=True)
        self._said = True


def _unlock(descriptor):
    # A forked child may have the descriptor too, so that closing it would not be enough.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _holder(file):
    try:
        text = file.read_text().strip()
    except OSError:
        text = ""
    return f"process {text}" if text else "another process"


def _is_at(descriptor, path):
    """Whether the name still refers to the open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _log(**entry):
    """Appends a line to the file that FACT_TURN_LOG names; one that cannot be written is no reason to
    stop."""
    path = os.environ.get("FACT_TURN_LOG")
    if not path:
        return
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    except OSError:
        return
    try:
        os.write(file, (json.dumps(entry) + "\n").encode())
    finally:
        os.close(file)
