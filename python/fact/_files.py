"""Files that are either whole or absent."""

import errno
import os
from pathlib import Path


def target(path):
    """Where a file written as `path` has to be put: a link stays, and only a file is replaced."""
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():
        raise FileExistsError(errno.EEXIST, "it is not a regular file", str(path))
    return place


def write_text(path, text):
    place = target(path)
    temporary = place.with_name(f"{place.name}.{os.getpid()}.tmp")
    temporary.write_text(text)
    os.replace(temporary, place)
