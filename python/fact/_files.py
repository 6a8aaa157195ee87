"""Writes files completely or not at all."""

import contextlib
import errno
import os
import tempfile
from pathlib import Path


def target(path):
    """The path to replace when `path` is written: links are followed, only regular files replaced."""
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():
        raise FileExistsError(errno.EEXIST, "it is not a regular file", str(path))
    return place


def is_full(error):
    """Whether an OSError says that there is no space left."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def write_failure(error):
    """The message for an OSError while writing a file."""
    if is_full(error):
        folder = os.path.dirname(os.path.abspath(error.filename or "."))
        return f"no space left on the disk of {folder}: cannot write {error.filename}"
    return f"cannot write {error.filename}: {error.strerror}"


def _usual_mode():
    """The default permissions of a new file; mkstemp's allow only the owner to read."""
    # os.umask cannot be read without setting it, which would affect other threads.
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("Umask:"):
                return 0o666 & ~int(line.split()[1], 8)
    return 0o644


@contextlib.contextmanager
def replacing(path):
    """A binary file that replaces `path` when all of it is written."""
    place = target(path)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(
            prefix=f".{place.name[:200]}.", suffix=".tmp", dir=place.parent
        )
        try:
            with open(handle, "wb") as file:
                os.fchmod(handle, _usual_mode())
                yield file
            os.replace(temporary, place)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


class Sink:
    """For a writer that crashes if a write fails: the failure is raised at the end."""

    def __init__(self, file):
        self._file = file
        self._error = None

    def write(self, data):
        if self._error is None:
            try:
                self._file.write(data)
            except OSError as error:
                self._error = error
        return len(data)

    def finish(self):
        if self._error is not None:
            raise self._error


def write_text(path, text):
    with replacing(path) as file:
        file.write(text.encode())
