"""Who uses the GPU when: python/fact/_turn.py."""

import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from unittest import mock

from built import ROOT
from fact import _gpu_memory, _turn
from fact._gpu_memory import Memory
from fact._turn import EXCLUSIVE, Turn

# Says when it has the GPU, and keeps it until it is told to end.
HOLDER = """
import sys
from fact._turn import Turn
with Turn("cuda", "a holder", sys.argv[1]):
    print(sys.argv[1], flush=True)
    sys.stdin.readline()
"""


class GpuFiles(unittest.TestCase):
    """Locks in a folder of the test's own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fact-turn-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log = self.folder / "log"
        places = {"TMPDIR": folder.name, "CUDA_VISIBLE_DEVICES": "0", "FACT_TURN_LOG": str(self.log)}
        changed = mock.patch.dict(os.environ, places)
        changed.start()
        self.addCleanup(changed.stop)
        self.file = self.folder / f"fact-gpu-{os.getuid()}-5feceb66.turn"

    def kinds(self):
        return [(line["what"], line["kind"]) for line in map(json.loads, self.log.read_text().splitlines())]


class Turns(GpuFiles):
    def holder(self, kind):
        """Another process that wants the GPU."""
        path = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def has_it(self, process):
        self.assertTrue(process.stdout.readline())

    def test_one_waits_for_the_other(self):
        order = []

        def second():
            with Turn("cuda:0", kind=EXCLUSIVE):
                order.append("second")

        thread = threading.Thread(target=second)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            with Turn():
                self.assertEqual(self.file.read_text(), f"{os.getpid()}\n")
                with Turn("cpu"):
                    thread.start()
                    time.sleep(0.3)
                order.append("first")
            thread.join(10)
        self.assertEqual(order, ["first", "second"])
        self.assertEqual(said.getvalue(), f"waiting for process {os.getpid()} to finish with the GPU\n")

    def test_processes_share_it_and_one_has_it_alone(self):
        first, second = self.holder("shared"), self.holder("shared")
        self.has_it(first)
        self.has_it(second)
        alone = self.holder("exclusive")
        time.sleep(0.5)
        first.communicate("\n")
        self.assertIsNone(alone.poll())
        second.communicate("\n")
        self.has_it(alone)
        third = self.holder("shared")
        time.sleep(0.3)
        self.assertEqual(len(self.kinds()), 2)
        _, said = alone.communicate("\n")
        self.assertRegex(said, r"^waiting for process \d+ to finish with the GPU\n$")
        self.has_it(third)
        third.communicate("\n")
        self.assertEqual([kind for _, kind in self.kinds()], ["shared", "shared", "exclusive", "shared"])

    def test_who_waits_to_have_it_alone_is_not_overtaken(self):
        first = self.holder("shared")
        self.has_it(first)
        alone = self.holder("exclusive")
        gate = self.folder / (self.file.name + ".gate")
        while not gate.exists() or "waiting" not in alone.stderr.readline():
            time.sleep(0.01)
        late = self.holder("shared")
        self.assertIn("waiting", late.stderr.readline())
        first.communicate("\n")
        self.has_it(alone)
        self.assertIsNone(late.poll())
        alone.communicate("\n")
        self.has_it(late)

    def test_a_process_that_dies_has_nothing(self):
        holder = self.holder("exclusive")
        self.has_it(holder)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with Turn():
            self.assertEqual(self.file.read_text(), f"{os.getpid()}\n")

    def test_it_lets_go_before_it_wants_more(self):
        """Two who share it would wait for each other for ever."""
        turns = [Turn(what=str(i)) for i in range(2)]
        begun = threading.Barrier(2)
        alone = []

        def work(turn):
            with turn:
                begun.wait()
                with turn.alone():
                    self.assertEqual(turn.kind, "exclusive")
                    alone.append(turn)
                    time.sleep(0.05)
                    self.assertIs(alone[-1], turn)
                self.assertEqual(turn.kind, "shared")
                with turn.aside():
                    self.assertIsNone(turn.kind)
            self.assertIsNone(turn.kind)

        threads = [threading.Thread(target=work, args=[turn]) for turn in turns]
        with contextlib.redirect_stderr(io.StringIO()):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(10)
        self.assertEqual(len(alone), 2)
        kinds = [kind for what, kind in self.kinds() if what == "1"]
        self.assertEqual(kinds, ["shared", "exclusive", "shared", "shared"])

    def test_who_is_interrupted_does_not_wait_again(self):
        for failure, after in ((ValueError, "shared"), (KeyboardInterrupt, None)):
            with Turn() as turn:
                with self.assertRaises(failure), turn.aside():
                    other = failure is KeyboardInterrupt and self.holder("exclusive")
                    if other:
                        self.has_it(other)
                    raise failure
                self.assertEqual(turn.kind, after)

    def test_it_lets_others_go_first(self):
        with Turn() as turn, contextlib.redirect_stderr(io.StringIO()):
            alone = self.holder("exclusive")
            self.assertIn("waiting", alone.stderr.readline())
            with mock.patch.object(_turn, "LONG_TURN", 100):
                turn.rest()
            self.assertFalse(self.log.exists())
            threading.Timer(0.5, lambda: (alone.stdin.write("\n"), alone.stdin.flush())).start()
            time.sleep(0.3)
            with mock.patch.object(_turn, "LONG_TURN", 0.2):
                turn.rest()
            self.assertEqual(self.kinds(), [("", "shared"), ("a holder", "exclusive")])
            self.assertEqual(turn.kind, "shared")
            with turn.alone():
                turn.rest()
                self.assertEqual(turn.kind, "exclusive")

    def test_the_log(self):
        with Turn(what="bench"):
            time.sleep(0.05)
        entry = json.loads(self.log.read_text())
        self.assertEqual((entry["who"], entry["what"], entry["kind"]), (os.getpid(), "bench", "shared"))
        self.assertGreaterEqual(entry["held_s"], 0.05)
        self.assertLess(entry["waited_s"], 0.05)
        self.assertLess(abs(time.time() - entry["when"]), 60)
        self.log.unlink()
        with mock.patch.dict(os.environ, {"FACT_TURN_LOG": ""}), Turn():
            pass
        self.assertFalse(self.log.exists())

    def test_inductor_compiles_aside_and_times_alone(self):
        from torch._inductor import compile_fx
        from torch._inductor.runtime.benchmarking import benchmarker

        turn = Turn()
        seen = []

        def compile_fx_here(graph):
            seen.append(turn.kind)
            return graph

        class Stand:
            def benchmark_gpu(self, work):
                seen.append(turn.kind)
                return work

        with (
            mock.patch.object(compile_fx, "compile_fx", compile_fx_here),
            mock.patch("torch._inductor.runtime.benchmarking.benchmarker", Stand()) as stand,
            turn,
        ):
            with _turn.compiling_aside(turn):
                self.assertEqual(compile_fx.compile_fx("graph"), "graph")
                seen.append(turn.kind)
                self.assertEqual(stand.benchmark_gpu("work"), "work")
                seen.append(turn.kind)
            stand.benchmark_gpu("work")
        self.assertEqual(seen, [None, "shared", "exclusive", "shared", "shared"])
        self.assertTrue(callable(benchmarker.benchmark_gpu))

    def test_what_an_inductor_compiled_that_times_otherwise_runs_alone(self):
        from torch._inductor import compile_fx

        turn = Turn()
        with (
            mock.patch.object(compile_fx, "compile_fx", lambda graph: turn.kind),
            mock.patch("torch._inductor.runtime.benchmarking.benchmarker", None),
            turn,
        ):
            with _turn.compiling_aside(turn):
                self.assertIsNone(compile_fx.compile_fx("graph"))
                self.assertEqual(turn.kind, "exclusive")
            self.assertEqual(turn.kind, "shared")


class Room(GpuFiles):
    """In the GPU's memory: python/fact/_gpu_memory.py."""

    def test_what_is_counted(self):
        def tensors(gib):
            return [types.SimpleNamespace(numel=lambda: int(gib * 2**27), element_size=lambda: 4)] * 2

        def counted(gpu):
            with mock.patch.object(_gpu_memory, "gpu_bytes", lambda: gpu << 30):
                return [_gpu_memory.shares(tensors(gib), 4) for gib in (0.1, 1, 4, 5, 100)]

        self.assertEqual(counted(144), [0, 1, 1, 2, 8])
        self.assertEqual(counted(72), [0, 1, 2, 3, 8])
        self.assertEqual(_gpu_memory.USUAL_BYTES, 144 << 30)
        with Memory() as memory, Memory("cpu") as on_cpu:
            memory.take(tensors(0.01), 4)
            on_cpu.take(tensors(1), 4)
        self.assertFalse(self.log.exists())

    @mock.patch.object(_gpu_memory, "gpu_bytes", lambda: 144 << 30)
    def test_it_is_shared_out(self):
        share = types.SimpleNamespace(numel=lambda: 16 << 30, element_size=lambda: 1)
        first, second = Memory(what="first"), Memory(what="second")
        first.take([share], 5)
        second.take([share], 3)
        thread = threading.Thread(target=lambda: second.take([share], 8))
        with contextlib.redirect_stderr(io.StringIO()) as said:
            thread.start()
            time.sleep(0.2)
            self.assertTrue(thread.is_alive())
            first.keep([share], 2)
            self.assertTrue(thread.is_alive())
            first.release()
            thread.join(10)
        self.assertFalse(thread.is_alive())
        second.release()
        self.assertEqual(said.getvalue(), "waiting for other runs to leave room on the GPU\n")
        self.assertEqual(self.kinds(), [("second", "memory 3/8"), ("first", "memory 5/8"), ("second", "memory 8/8")])


if __name__ == "__main__":
    unittest.main()
