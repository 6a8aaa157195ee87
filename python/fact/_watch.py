"""What a module was built from: the files that were read and the variables that were asked for."""

import hashlib
import os
import stat
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

LARGE = 256 << 20  # bytes; a larger file is identified by its size and time alone
TICK_NS = 10_000_000  # the times of files may lag so far behind the clock

_PLACES = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
_LIBRARY = tuple(place + os.sep for place in [*_PLACES, str(Path(__file__).parent)])
_NOT_DATA = ("/proc/", "/dev/", "/sys/")
# Where torch, Triton and CUDA cache what they compiled: by variable, the usual place. Such files
# come and go, and no module is built from them.
_CACHES = {
    "TORCHINDUCTOR_CACHE_DIR": os.path.join(tempfile.gettempdir(), "torchinductor_"),
    "TRITON_CACHE_DIR": os.path.expanduser("~/.triton/"),
    "CUDA_CACHE_PATH": os.path.expanduser("~/.nv/"),
}


def is_library(file):
    """Whether a file is the interpreter's, an installed package's or ours, not the user's."""
    installed = "site-packages" in file or "dist-packages" in file
    return installed or file.startswith("<") or file.startswith(_LIBRARY)


def is_data(file):
    """Whether a file can be something that a module is built from."""
    for variable, usual in _CACHES.items():
        given = os.environ.get(variable)
        if file.startswith(os.path.join(os.path.abspath(given), "") if given else usual):
            return False
    # A .pyc depends only on its source.
    return not (is_library(file) or file.endswith(".pyc") or file.startswith(_NOT_DATA))


def stamp(path):
    """Identifies a file's content; None unless it is a regular file."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > LARGE:
            return {"size": status.st_size, "mtime_ns": status.st_mtime_ns}
        content = Path(path).read_bytes()
    except (OSError, ValueError):
        return None
    return {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def names_in(folder):
    """Identifies a folder's listing: the SHA-256 of its names, without hidden ones and Python's
    caches (src/driver/trace.cpp computes the same)."""
    names = sorted(os.fsencode(name) for name in os.listdir(folder))
    shown = [name for name in names if not name.startswith(b".") and name != b"__pycache__"]
    return hashlib.sha256(b"\n".join(shown)).hexdigest()


class Watch:
    """Inside `with`, records what the user's code reads; the code itself behaves as without it."""

    def __init__(self):
        self.opened, self.listed, self.variables = set(), set(), set()
        self.made = set()  # files and folders that were not there before
        self._active = False
        self._begun_ns = time.time_ns() - TICK_NS
        # A hook cannot be removed: outside `with` it does nothing.
        sys.addaudithook(self._audit)

    def __enter__(self):
        import torch

        original_getitem, original_stat = os._Environ.__getitem__, os.stat
        original_from_file = torch.UntypedStorage.from_file

        # os.getenv, get and `in` all lead here, also on an environ imported by name.
        def getitem(environment, name):
            if isinstance(name, (str, bytes)) and _asked_by_the_user():
                self.variables.add(os.fsdecode(name))
            return original_getitem(environment, name)

        # Maps a checkpoint without Python's open; readers written in other languages call it too.
        def from_file(filename, *args, **kwargs):
            self._note(filename)
            return original_from_file(filename, *args, **kwargs)

        # os.path.exists and the like end here, and Python calls no audit hook for them.
        def stat_of(path, *args, **kwargs):
            try:
                return original_stat(path, *args, **kwargs)
            except FileNotFoundError:
                if _asked_by_the_user():
                    self._note(path)
                raise

        def restore():
            os._Environ.__getitem__ = original_getitem
            os.stat = original_stat
            del torch.UntypedStorage.from_file  # inherited again

        os._Environ.__getitem__ = getitem
        os.stat = stat_of
        torch.UntypedStorage.from_file = staticmethod(from_file)
        self._restore, self._active = restore, True
        return self

    def __exit__(self, *_):
        self._active = False
        self._restore()

    def stamp(self, path):
        """As the function `stamp`, but None also for a file that was written since this object was
        made: the module may have read its old content."""
        identity = stamp(path)
        try:
            status = os.stat(path)  # after its content was read
        except OSError:
            return None
        # Renaming another file to this name leaves its old mtime, and sets its ctime.
        fresh = max(status.st_mtime_ns, status.st_ctime_ns) >= self._begun_ns
        return None if fresh else identity

    def files(self):
        """Every file of the user's that was read, imported or looked for, and every folder that was
        listed: path -> stamp, or None, which never matches."""
        imported = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
        found = {}
        for file in sorted(self.opened | {os.path.abspath(file) for file in imported if file}):
            if not is_data(file):
                continue
            if os.path.isfile(file):
                found[file] = self.stamp(file)
            elif not os.path.lexists(file) and not self._was_temporary(file):
                found[file] = {"absent": True}
        for folder in sorted(self.listed):
            if os.path.isdir(folder) and is_data(folder + os.sep):
                found[folder] = {"listing": names_in(folder)}
        return found

    def _audit(self, event, arguments):
        if self._active and event == "open":
            path, _, flags = arguments
            if flags & os.O_EXCL:
                self._note(path, self.made)
            # A missing file counts only if the user's code asked: libraries try many names, some of
            # them different in every run.
            if not flags & (os.O_WRONLY | os.O_TRUNC) and (_is_there(path) or _asked_by_the_user()):
                self._note(path)
        elif self._active and event == "os.mkdir":
            self._note(arguments[0], self.made)
        elif self._active and event in ("os.listdir", "os.scandir"):
            # Folders in which imports look for modules do not count.
            folder = arguments[0] or "."
            imports = "importlib" in sys._getframe(1).f_code.co_filename
            if isinstance(folder, (str, bytes, os.PathLike)) and not imports and _asked_by_the_user():
                self.listed.add(os.path.abspath(os.fsdecode(folder)))

    def _note(self, path, paths=None):
        if isinstance(path, (str, bytes, os.PathLike)):
            # Made absolute now: the module may change the folder later.
            (self.opened if paths is None else paths).add(os.path.abspath(os.fsdecode(path)))

    def _was_temporary(self, path):
        """Whether a path that no longer exists was created here: a temporary file with a random
        name."""
        return any(str(place) in self.made for place in (path, *Path(path).parents))


def _is_there(path):
    return isinstance(path, (str, bytes, os.PathLike)) and os.path.lexists(path)


def _asked_by_the_user():
    """Whether any caller is the user's code: torch asks for hundreds of variables on its own."""
    frame = sys._getframe(2)
    while frame is not None:
        if not is_library(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return False
