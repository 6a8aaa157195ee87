"""What a full disk and a sudden death leave behind: a clear word, no half file, no stray process."""

import errno
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import textwrap
import threading
import time
import unittest

from command_line import PROGRAM, TWO_LINEARS, model

from fact import _files

LARGE = """
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(64, 32768)

    def forward(self, x):
        return self.up(x)
"""

# Says who it is and whom it started, then hangs.
HANGING = """
    import os, subprocess, sys, time
    import torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
            with open("who.part", "w") as file:
                file.write(f"{os.getpid()} {child.pid}")
            os.rename("who.part", "who")
            time.sleep(300)

    def get_inputs():
        return []

    def get_init_inputs():
        return []
"""


def is_running(process):
    try:
        status = pathlib.Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return ") Z" not in status


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


class Trouble(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fact-trouble-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = {**os.environ, "FACT_CACHE_DIR": str(self.folder / "cache")}

    def write(self, name, text):
        (self.folder / name).write_text(textwrap.dedent(text))
        return name

    def fact(self, *arguments):
        return subprocess.run(
            [PROGRAM, *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=600,
        )

    def small_disk(self, size="2m"):
        folder = self.folder / "small"
        folder.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True
        )
        if mounted.returncode != 0:
            self.skipTest("a small disk cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", str(folder)], check=True)
        return folder


@unittest.skipUnless(os.path.exists(PROGRAM), "fact is not built")
class FullDisk(Trouble):
    def expect_full(self, result, folder):
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(f"no space left on the disk of {folder}", result.stderr)
        self.assertNotIn("Traceback", result.stderr)

    def test_an_archive(self):
        small = self.small_disk()
        self.write("large.py", model(LARGE))
        self.expect_full(self.fact("trace", "large.py", "-o", small / "model.pt2"), small)
        self.assertEqual(list(small.iterdir()), [])

    def test_a_run_folder(self):
        small = self.small_disk()
        self.write("large.py", model(LARGE))
        result = self.fact("optimize", "large.py", "--run-dir", small / "run", "-o", "package")
        self.expect_full(result, small / "run")
        left = [p for p in small.rglob("*") if p.name.startswith(".") or p.suffix == ".pt2"]
        self.assertEqual(left, [])
        self.assertFalse((self.folder / "package").exists())

    def test_a_store(self):
        small = self.small_disk("64k")
        self.environment["FACT_CACHE_DIR"] = str(small)
        self.write("two.py", model(TWO_LINEARS))
        result = self.fact("optimize", "two.py", "--dtype", "bf16", "-o", "package", "--no-bench")
        self.assertIn(f"no space left on the disk of {small}", result.stderr + result.stdout)
        self.assertEqual([p for p in small.rglob("*") if p.name.startswith(".")], [])
        self.assertEqual([p for p in small.rglob("*.cubin")], [])

    def test_a_benchmarks_result(self):
        small = self.small_disk("64k")
        (small / "rest").write_bytes(b"x" * 65536)
        with self.assertRaises(OSError) as caught:
            _files.write_text(small / "bench.json", "{}\n")
        self.assertEqual(
            _files.write_failure(caught.exception),
            f"no space left on the disk of {small}: cannot write {small / 'bench.json'}",
        )
        self.assertEqual([p.name for p in small.iterdir()], ["rest"])


class Files(Trouble):
    def test_a_write_that_fails_leaves_what_was_there(self):
        place = self.folder / "result.json"
        _files.write_text(place, "old")
        with self.assertRaises(OSError) as caught:
            with _files.replacing(place) as file:
                file.write(b"new")
                raise OSError(errno.ENOSPC, "No space left on device")
        self.assertEqual(caught.exception.filename, str(place))
        self.assertEqual(place.read_text(), "old")
        self.assertEqual([p.name for p in self.folder.iterdir()], ["result.json"])

    def test_a_file_is_as_readable_as_any(self):
        before = os.umask(0o027)
        try:
            _files.write_text(self.folder / "result.json", "{}")
        finally:
            os.umask(before)
        self.assertEqual((self.folder / "result.json").stat().st_mode & 0o777, 0o640)

    def test_a_sink_keeps_the_first_failure(self):
        class Full:
            def write(self, data):
                raise OSError(errno.ENOSPC, "No space left on device")

        sink = _files.Sink(Full())
        self.assertEqual(sink.write(b"some"), 4)
        self.assertEqual(sink.write(b"more"), 4)
        with self.assertRaises(OSError):
            sink.finish()


@unittest.skipUnless(os.path.exists(PROGRAM), "fact is not built")
class SuddenDeath(Trouble):
    def kill_when(self, condition, *arguments):
        """Runs fact and ends it with SIGKILL as soon as the condition holds."""
        process = subprocess.Popen(
            [PROGRAM, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            self.assertTrue(wait_for(condition), "it did not get so far")
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()

    def test_the_tracer_ends_with_what_it_started(self):
        self.write("hanging.py", HANGING)
        self.kill_when((self.folder / "who").exists, "trace", "hanging.py", "-o", "model.pt2")
        processes = (self.folder / "who").read_text().split()
        self.assertEqual(len(processes), 2)
        for process in processes:
            self.assertTrue(wait_for(lambda: not is_running(process), 10), "a stray goes on")

    def test_compilers_end_with_their_passes(self):
        """nvcc starts others: cicc and ptxas, which take the most time."""
        self.write("two.py", model(TWO_LINEARS))
        nvcc = self.folder / "nvcc"
        real = os.environ.get("FACT_NVCC", "nvcc")
        nvcc.write_text(
            f'#!/bin/sh\ncase "$*" in *--version*) exec {real} "$@";; esac\n'
            f'sleep 300 & echo $$ $! > {self.folder}/part; mv {self.folder}/part {self.folder}/who\nwait\n'
        )
        nvcc.chmod(0o755)
        self.environment["FACT_NVCC"] = str(nvcc)
        self.kill_when(
            (self.folder / "who").exists, "optimize", "two.py", "--dtype", "bf16", "--no-bench"
        )
        for process in (self.folder / "who").read_text().split():
            self.assertTrue(wait_for(lambda: not is_running(process), 10), "a stray goes on")


class Threads(unittest.TestCase):
    def test_many_write_one_file(self):
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder) / "result.json"
            texts = [str(i) * 10000 for i in range(8)]
            threads = [
                threading.Thread(target=_files.write_text, args=(place, text)) for text in texts
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertIn(place.read_text(), texts)
            self.assertEqual([p.name for p in place.parent.iterdir()], ["result.json"])


if __name__ == "__main__":
    unittest.main()
