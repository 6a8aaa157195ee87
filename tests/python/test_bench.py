"""The benchmark without a GPU: results are compared, nothing is timed."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest
from unittest import mock

import torch
from built import needs_ops
from fact import bench

DTYPE_WRITTEN = """

class Model(Model):
    def forward(self, x):
        return super().forward(x.float())
"""

COUNTING = """

class Model(Model):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls.add_(1)
        return super().forward(x) * self.calls
"""

OTHERWISE_TRACED = """

class Model(Model):
    def forward(self, x):
        y = super().forward(x)
        return y if torch.compiler.is_compiling() else y * 0.5
"""

FAILING = """

class Model(Model):
    def forward(self, x):
        raise ValueError("not today")
"""

SOURCE = """
import torch
from packages import Up as Model


def get_inputs():
    return [torch.randn(2, 8, 32)]


def get_init_inputs():
    return []
"""


@needs_ops
class Bench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fact-bench-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "source.py").write_text(SOURCE)
        (self.folder / "package").mkdir()

    def bench(self):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = bench.main(
                [str(self.folder / "package"), "--source", str(self.folder / "source.py")]
                + ["--device", "cpu", "--json", str(self.folder / "bench.json")]
            )
        return code, printed.getvalue(), json.loads((self.folder / "bench.json").read_text())

    def write(self, change=lambda module: None):
        from fact.trace import load_model
        from packages import write_package

        module, (x,) = load_model(str(self.folder / "source.py"))
        change(module)
        write_package(self.folder / "package", module, x)

    def test_agreement(self):
        self.write()
        code, printed, result = self.bench()
        self.assertEqual(code, 0)
        self.assertTrue(result["agrees"])
        self.assertEqual(
            [row["name"] for row in result["rows"]], ["eager", "torch.compile", "composed"]
        )
        self.assertNotIn("single", result["rows"][2])
        self.assertLess(result["rows"][2]["errors"]["largest"], 1e-6)
        self.assertIn("times are not measured", result["note"])
        self.assertIn("composed", printed)

    def test_a_module_of_one_dtype_is_not_compared(self):
        self.write()
        source = self.folder / "source.py"
        source.write_text(source.read_text() + DTYPE_WRITTEN)
        code, _, result = self.bench()
        self.assertEqual(code, 0)
        self.assertIn("does not run in f64", result["note"])

    def test_a_module_that_counts_its_calls_is_compared(self):
        source = self.folder / "source.py"
        source.write_text(source.read_text() + COUNTING)
        self.write()
        code, printed, result = self.bench()
        self.assertEqual(code, 0)
        self.assertLess(result["rows"][2]["errors"]["largest"], 1e-6)
        self.assertNotIn("random", printed)

    def test_a_graph_that_is_not_the_modules_is_named(self):
        source = self.folder / "source.py"
        source.write_text(source.read_text() + OTHERWISE_TRACED)
        self.write()
        code, printed, result = self.bench()
        self.assertEqual(code, 1)
        self.assertIn("torch.export's graph of the module gives other results", result["note"])
        self.assertNotIn("TOO LARGE", printed)

    def test_a_module_that_fails(self):
        self.write()
        source = self.folder / "source.py"
        source.write_text(source.read_text() + FAILING)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            code = bench.main([str(self.folder / "package"), "--source", str(source), "--device", "cpu"])
        self.assertEqual(code, 2)
        self.assertIn("the module itself fails: ValueError: not today", said.getvalue())

    def test_a_wrong_package_is_named(self):
        self.write(lambda module: module.up.weight.data.mul_(1.01))
        code, printed, result = self.bench()
        self.assertEqual(code, 1)
        self.assertFalse(result["agrees"])
        self.assertIn("TOO LARGE", printed)

    def test_trials_share_the_weights_of_the_module(self):
        from fact import _timing, ablate

        self.write(lambda module: module.up.weight.data.mul_(2))  # the package's own are others

        def single(works, total_us=None):
            results = [work() for work in works]
            for result in results[1:]:
                torch.testing.assert_close(result, results[0], rtol=1e-5, atol=1e-6)
            return [{"median_us": float(i)} for i in range(len(works))]

        package = str(self.folder / "package")
        with mock.patch.object(_timing, "single", single), torch.no_grad():
            result = ablate.run(str(self.folder / "source.py"), [package] * 2, device="cpu")
        self.assertEqual(result["eager"]["median_us"], 0)
        self.assertEqual([times["median_us"] for times in result["times"]], [1, 2])


class Memory(unittest.TestCase):
    def test_a_module_that_does_not_fit_in_f64(self):
        module = torch.nn.Linear(100, 100, bias=False)  # 80000 bytes in f64
        self.assertTrue(bench.fits_in_f64(module, 120_000))
        self.assertFalse(bench.fits_in_f64(module, 119_000))


class Agreement(unittest.TestCase):
    def test_an_output_that_overflows_hides_no_other(self):
        exact = [torch.ones(4, dtype=torch.float64), torch.full((4,), 1e39, dtype=torch.float64)]
        eager = [torch.ones(4), torch.full((4,), torch.inf)]
        wrong = [torch.full((4,), 1.5), torch.full((4,), torch.inf)]
        of_eager = bench.errors(exact, eager)
        self.assertTrue(bench.agrees(of_eager, of_eager, torch.float32))
        self.assertFalse(bench.agrees(bench.errors(exact, wrong), of_eager, torch.float32))
        self.assertEqual(bench.worst(of_eager)["largest"], bench.WRONG)


class Summary(unittest.TestCase):
    def test_percentiles(self):
        from fact._timing import summarize

        result = summarize(list(range(100, 0, -1)))
        self.assertEqual(result, {"median_us": 50.5, "low_us": 10, "high_us": 90, "runs": 100})
        self.assertEqual(summarize([])["runs"], 0)


if __name__ == "__main__":
    unittest.main()
