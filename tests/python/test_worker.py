"""The worker over its protocol, on the CPU."""

import json
import pathlib
import select
import signal
import subprocess
import tempfile
import unittest

from built import KERNEL_TEXT, WORKER, linear_gelu_call, needs_worker


class Worker:
    """A worker process; `ask` kills it when the answer does not come in time."""

    def __init__(self):
        self.process = subprocess.Popen(
            [WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def ask(self, request, seconds=120):
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            self.process.kill()
            return None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def close(self):
        self.process.kill()
        self.process.communicate()


@needs_worker
class Protocol(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fact-worker-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.worker = Worker()
        self.addCleanup(self.worker.close)

    def open(self, call, text, **more):
        (self.folder / "call.json").write_text(json.dumps(call))
        (self.folder / "kernel.fact").write_text(text)
        request = {
            "call": str(self.folder / "call.json"),
            "kernel_text": str(self.folder / "kernel.fact"),
            "device": "cpu",
        }
        return self.worker.ask({"open": request | more})

    def test_right_text_passes_and_faults_are_told_apart(self):
        reply = self.open(linear_gelu_call(2, 16, 64, 48), KERNEL_TEXT.format(dtype="f32"))
        self.assertEqual(reply["error"], "")
        self.assertEqual(reply["note"], "")
        self.assertEqual(
            [c["distribution"] for c in reply["text_checks"]],
            ["normal", "large", "positive", "zero_tail", "uneven"],
        )
        for check in reply["text_checks"]:
            self.assertTrue(check["passed"], check)
            self.assertLess(check["kernel"]["largest"], 1e-6)

        fine = self.worker.ask({"candidate": {"cubin": "", "record": ""}})
        self.assertEqual((fine["outcome"], fine["why"]), ("passed", ""))
        self.assertEqual(fine["baseline_single"]["runs"], 0)
        wrong = self.worker.ask({"candidate": {"fault": "wrong"}})
        self.assertEqual(wrong["outcome"], "incorrect")
        self.assertEqual(wrong["finding"], "wrong result")
        self.assertIn("largest error", wrong["why"])
        self.assertIsNone(self.worker.ask({"candidate": {"fault": "crash"}}))
        self.assertEqual(self.worker.process.wait(), -signal.SIGABRT)

    def test_a_hang_ends_at_the_deadline(self):
        self.open(linear_gelu_call(2, 8, 16, 16), KERNEL_TEXT.format(dtype="f32"))
        self.assertIsNone(self.worker.ask({"candidate": {"fault": "hang"}}, seconds=2))
        self.assertEqual(self.worker.process.wait(), -signal.SIGKILL)

    def test_every_fault_gets_its_own_verdict(self):
        """The proof's steps over the interpreter with one defect each."""
        expected = {
            "zeros": "wrong result",
            "half_tile": "left its output unwritten",
            "outside": "wrote outside its buffers",
            "changes_inputs": "changed its inputs",
            "stale_output": "depends on what was in its output",
            "uses_workspace": "depends on its workspace",
            "caches_by_pointer": "remembers earlier inputs",
            "odd_sizes": "wrong at other sizes",
            "races": "not deterministic",
            "low_precision": "wrong result",
            "tires": "did no work while timed",
        }
        for dtype in ("f32", "bf16"):
            reply = self.open(linear_gelu_call(2, 8, 16, 16, dtype), KERNEL_TEXT.format(dtype=dtype))
            self.assertEqual(reply["error"], "")
            for fault, finding in expected.items():
                with self.subTest(fault=fault, dtype=dtype):
                    answer = self.worker.ask({"candidate": {"fault": fault}})
                    self.assertEqual(answer["outcome"], "incorrect", answer)
                    self.assertEqual(answer["finding"], finding, answer["why"])
                    self.assertTrue(answer["why"].startswith(finding), answer["why"])
        unknown = self.worker.ask({"candidate": {"fault": "gremlins"}})
        self.assertEqual(unknown["outcome"], "unsupported")
        self.assertIn("half_tile", unknown["why"])

    def test_an_honest_kernel_passes_every_step(self):
        reply = self.open(linear_gelu_call(2, 8, 16, 16), KERNEL_TEXT.format(dtype="f32"))
        self.assertEqual(reply["error"], "")
        answer = self.worker.ask({"candidate": {"fault": "none"}})
        self.assertEqual((answer["outcome"], answer["finding"]), ("passed", ""), answer["why"])
        self.assertIn("other sizes: ", answer["note"])
        # Four distributions, and after the timing one more, the first again, and one changed row.
        self.assertEqual([c["seed"] for c in answer["checks"]], [1, 2, 3, 4, 5, 1000, 1, 1001])
        quick = self.worker.ask({"candidate": {"fault": "none", "proof": "quick"}})
        self.assertEqual([c["seed"] for c in quick["checks"]], [1, 3, 1000])
        # What only the whole proof looks at passes the quick one.
        odd = self.worker.ask({"candidate": {"fault": "odd_sizes", "proof": "quick"}})
        self.assertEqual(odd["outcome"], "passed")

    def test_wrong_texts_do_not_pass(self):
        text = KERNEL_TEXT.format(dtype="f32")
        for before, after in [
            ("gelu_tanh(acc + b)", "gelu_tanh(acc) + b"),
            ("gelu_tanh(acc + b)", "gelu_tanh(acc + b) * 1.001"),
            ("gelu_tanh", "relu"),
        ]:
            with self.subTest(after):
                reply = self.open(linear_gelu_call(2, 16, 64, 48), text.replace(before, after))
                self.assertEqual(reply["error"], "")
                self.assertFalse(all(c["passed"] for c in reply["text_checks"]))

    def test_bf16_is_judged_by_bf16(self):
        reply = self.open(linear_gelu_call(2, 16, 64, 48, "bf16"), KERNEL_TEXT.format(dtype="bf16"))
        self.assertEqual(reply["error"], "")
        for check in reply["text_checks"]:
            self.assertTrue(check["passed"], check)
            self.assertGreater(check["eager"]["largest"], 1e-4)  # f64 is really f64

    def test_large_calls_are_shrunk(self):
        reply = self.open(linear_gelu_call(128, 512, 768, 3072), KERNEL_TEXT.format(dtype="f32"))
        self.assertEqual(reply["error"], "")
        self.assertIn("shrunk", reply["note"])
        self.assertTrue(all(c["passed"] for c in reply["text_checks"]))

    def test_what_cannot_be_opened_is_explained(self):
        text = KERNEL_TEXT.format(dtype="f32")
        call = linear_gelu_call(2, 8, 16, 16)
        reply = self.open(call, text.replace("gelu_tanh", "gelu_tan"))
        self.assertIn("gelu_tan", reply["error"])
        call["original"]["nodes"][1]["target"] = "aten.nonsense.default"
        self.assertIn("no operator aten.nonsense.default", self.open(call, text)["error"])
        missing = self.worker.ask({"open": {"call": "nowhere.json", "kernel_text": "nothing"}})
        self.assertIn("nowhere.json", missing["error"])
        nothing = self.worker.ask({"candidate": {}})
        self.assertEqual((nothing["outcome"], nothing["why"]), ("unsupported", "no call is open"))


if __name__ == "__main__":
    unittest.main()
