"""Locks on what processes share of a GPU.

The files and the way they are locked are those of src/support/shared_lock.cpp and src/tune/gpu_*.cpp,
whose runs wait for these.
"""

import fcntl
import hashlib
import json
import os
import sys
import time
from pathlib import Path

SHARED, EXCLUSIVE = "shared", "exclusive"
# Seconds between two attempts: turns change hands many times a second. Who wants one alone looks more
# often, so that several of these follow one another.
PAUSE = {SHARED: 0.004, EXCLUSIVE: 0.001}


def lock_file(something):
    """The same file as the core's: one for each user and set of visible GPUs."""
    # In the order of C++'s temp_directory_path, which is not Python's.
    folder = next(filter(None, map(os.environ.get, ("TMPDIR", "TMP", "TEMP", "TEMPDIR"))), "/tmp")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "all")
    gpus = hashlib.sha256(visible.encode()).hexdigest()[:8]
    return Path(folder) / f"fact-gpu-{os.getuid()}-{gpus}.{something}"


def take(file, kind, waiting):
    """The descriptor of the file once it is locked; calls waiting() before it waits. While one waits
    nobody else gets the lock, so that neither kind waits for ever while others of the other kind come
    and go."""
    gate = _locked(file.with_name(file.name + ".gate"), EXCLUSIVE, PAUSE[kind], waiting)
    try:
        return _locked(file, kind, PAUSE[kind], waiting)
    finally:
        unlock(gate)


def try_take(file, kind):
    """The descriptor of the locked file; None if others have it."""
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if kind == SHARED else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        if _is_at(descriptor, file):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
            return descriptor
        os.close(descriptor)  # somebody has removed this file


def unlock(descriptor):
    # A forked child may have the descriptor too, so that closing it would not be enough.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def holder(file):
    try:
        text = file.read_text().strip()
    except OSError:
        text = ""
    return f"process {text}" if text else "another process"


def say(text):
    print(text, file=sys.stderr, flush=True)


class Use:
    """From when something was waited for to when it was given back."""

    def __init__(self):
        self._asked = time.monotonic()

    def begin(self):
        """The waiting is over."""
        self._since, self._when = time.monotonic(), time.time()

    def seconds(self):
        """Since then."""
        return time.monotonic() - self._since

    def end(self, kind, what):
        """Appends a line to the file that FACT_TURN_LOG names. One that cannot be written is no reason to
        stop."""
        path = os.environ.get("FACT_TURN_LOG")
        if not path:
            return
        waited, held = self._since - self._asked, self.seconds()
        who = {"who": os.getpid(), "kind": kind, "what": what}
        line = json.dumps({**who, "waited_s": waited, "held_s": held, "when": self._when}) + "\n"
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError:
            return
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)


def _locked(file, kind, pause, waiting):
    while (descriptor := try_take(file, kind)) is None:
        waiting()
        time.sleep(pause)
    return descriptor


def _is_at(descriptor, path):
    """Whether the name still refers to the open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
