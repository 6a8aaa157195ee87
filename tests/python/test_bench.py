"""The benchmark without a GPU: results are compared, nothing is timed."""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import torch
from built import KERNEL_TEXT, needs_ops
from fact import _precision, _timing, bench
from packages import seal

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

SETTING = """

torch.set_float32_matmul_precision("high")
torch.backends.cudnn.allow_tf32 = False
torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
"""

FAILING = """

class Model(Model):
    def forward(self, x):
        raise ValueError("not today")
"""

ASKING = """

class Model(Model):
    def forward(self, x):
        if x.dtype != torch.float32:
            raise TypeError("float32 alone\\nis taken here")
        return super().forward(x)
"""

ALSO_ROUGH = """

class Model(Model):
    def forward(self, x):
        y = super().forward(x)
        return y.bfloat16(), y
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

    def bench(self, *options):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = bench.main(
                [str(self.folder / "package"), "--source", str(self.folder / "source.py")]
                + ["--device", "cpu", "--json", str(self.folder / "bench.json"), *options]
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
        rows = {row["name"]: row for row in result["rows"]}
        self.assertEqual(list(rows), ["eager", "exported graph", "torch.compile", "composed"])
        self.assertNotIn("single", rows["composed"])
        for name in ("composed", "exported graph"):
            self.assertLess(rows[name]["errors"]["largest"], 1e-6)
        self.assertIn("times are not measured", result["note"])
        self.assertEqual(result["fallbacks"], [])
        self.assertIn("composed", printed)

    def test_settings_are_the_sources_own_and_go_again(self):
        self.write()
        source = self.folder / "source.py"
        usual = _precision.recorded()
        # torch's default, which the benchmark once took away: TF32 in convolutions, not in products.
        _, _, result = self.bench()
        self.assertEqual(result["precision"], usual)
        self.assertTrue(result["precision"]["tf32_convolutions"])
        self.assertFalse(result["precision"]["tf32_products"])
        source.write_text(source.read_text() + SETTING)
        _, _, result = self.bench()
        self.assertTrue(result["precision"]["tf32_products"])
        self.assertFalse(result["precision"]["tf32_convolutions"])
        self.assertFalse(result["precision"]["reduced_bf16_sums"])
        _, _, result = self.bench("--allow-tf32")
        self.assertTrue(result["precision"]["tf32_products"])
        self.assertTrue(result["precision"]["tf32_convolutions"])
        after = _precision.recorded()
        for name in ("tf32_products", "tf32_convolutions", "reduced_bf16_sums"):
            self.assertEqual(after[name], usual[name], name)

    def test_all_peers_have_a_row(self):
        self.write()
        _, printed, result = self.bench("--peers", "all")
        peers = ["torch.compile", "max-autotune", "max-autotune without graphs"]
        rows = {row["name"]: row for row in result["rows"]}
        self.assertEqual(list(rows), ["eager", "exported graph", *peers, "composed"])
        for name in peers:
            self.assertEqual(rows[name]["why"], "no GPU: not measured")
            self.assertIn(name, printed)

    def test_a_peer_that_fails_is_a_row_with_the_reason(self):
        self.write()

        def refuse(module, mode=None):
            def call(x):
                if mode == "max-autotune-no-cudagraphs":
                    raise RuntimeError("\n  no such tile\nand more")
                return module(x)

            return call

        timing = {"median_us": 10.0, "low_us": 9.0, "high_us": 11.0, "runs": 3}
        stand_ins = {
            "single": lambda works, total_us=None, brief=False: [timing for _ in works],
            "sustained": lambda works: [timing for _ in works],
            "repeatable": lambda work: _timing.Repeatable(work, "calls"),
            "peak_bytes": lambda work: 1,
        }
        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.object(torch, "compile", refuse))
            stack.enter_context(mock.patch.object(bench, "_is_gpu", lambda device: True))
            stack.enter_context(mock.patch.object(torch.cuda, "mem_get_info", lambda: (1 << 40, 0)))
            stack.enter_context(mock.patch.object(torch.cuda, "get_device_name", lambda: "none"))
            for name, stand_in in stand_ins.items():
                stack.enter_context(mock.patch.object(_timing, name, stand_in))
            code, printed, result = self.bench("--peers", "all")
        self.assertEqual(code, 0)
        rows = {row["name"]: row for row in result["rows"]}
        self.assertIn("RuntimeError: no such tile and more", rows["max-autotune without graphs"]["why"])
        self.assertNotIn("single", rows["max-autotune without graphs"])
        self.assertEqual(rows["max-autotune"]["single"], timing)
        self.assertEqual(rows["max-autotune"]["sustained_of"], "its own CUDA graph")
        self.assertEqual(rows["eager"]["sustained_of"], "calls")
        self.assertIn("no such tile", printed)

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
        self.assertLess(result["rows"][-1]["errors"]["largest"], 1e-6)
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

    def test_a_module_that_refuses_f64(self):
        self.write()
        source = self.folder / "source.py"
        source.write_text(source.read_text() + ASKING)
        code, printed, result = self.bench()
        self.assertEqual(code, 0)
        self.assertIn("only its patterns were checked, not the whole", result["note"])
        self.assertRegex(result["note"], r"source.py:\d+: TypeError: float32 alone is taken here")
        self.assertNotIn("errors", result["rows"][2])
        self.assertIsNone(result["agrees"])

    def test_a_wrong_package_is_named(self):
        self.write(lambda module: module.up.weight.data.mul_(1.01))
        code, printed, result = self.bench()
        self.assertEqual(code, 1)
        self.assertFalse(result["agrees"])
        self.assertIn("TOO LARGE", printed)

    def test_a_mixed_module_is_judged_by_each_output(self):
        source = self.folder / "source.py"
        source.write_text(source.read_text() + ALSO_ROUGH)
        module, _ = bench.load_model(str(source))

        def off(x):
            rough, exact = module(x)
            return rough, exact * 1.003

        with mock.patch.object(bench, "modules_of") as modules:
            package = mock.Mock(side_effect=off)
            package.status.return_value.patterns = []
            modules.return_value = {"eager": module, "torch.compile": None, "composed": package}
            _, printed, result = self.bench()
        self.assertFalse(result["agrees"], printed)

    def test_what_ran_as_torchs_operators_is_said(self):
        self.write()
        package = self.folder / "package"
        (package / "kernels" / "up" / "kernel.fact").write_text(KERNEL_TEXT.format(dtype="bf16"))
        seal(package)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code, printed, result = self.bench()
        self.assertEqual(code, 0, printed)
        [one] = result["fallbacks"]
        self.assertEqual((one["pattern"], one["calls"], one["fallbacks"]), ("p01_linear_gelu", 1, 1))
        self.assertIn("x is f32, but the kernel takes bf16", one["reason"])
        said = "p01_linear_gelu ran as torch's operators, not as its kernel, in 1 of 1 calls: x is f32"
        self.assertIn(said, result["note"])
        self.assertIn(said, printed)

    def test_one_that_was_started_ahead(self):
        self.write()
        arguments = [str(self.folder / "package"), "--source", str(self.folder / "source.py")]
        arguments += ["--device", "cpu", "--json", str(self.folder / "ahead.json")]
        path = os.pathsep.join(sys.path)
        done = subprocess.run(
            [sys.executable, "-m", "fact._ahead", "fact.bench"],
            input=json.dumps(arguments) + "\n",
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertIn("composed", done.stderr)
        result = json.loads((self.folder / "ahead.json").read_text())
        self.assertTrue(result["agrees"])
        self.assertIn("bench.py", result["command"].split()[0])

    def test_trials_share_the_weights_of_the_module(self):
        from fact import ablate

        self.write(lambda module: module.up.weight.data.mul_(2))  # the package's own are others

        def single(works, total_us=None, brief=False):
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


class OwnCasts(unittest.TestCase):
    def test_what_the_module_casts_itself_is_named(self):
        class Casting(torch.nn.Linear):
            def forward(self, x):
                return torch.softmax(super().forward(x).float(), -1).to(x.dtype)

        for module, said in (
            (torch.nn.Linear(8, 8), ""),
            (Casting(8, 8), " (but float32 where the module itself says so)"),
        ):
            narrower = bench.Narrower()
            exact = bench.exact_results(module, [torch.randn(2, 8)], narrower)
            self.assertEqual(exact[0].dtype, torch.float64)
            self.assertEqual(bench.own_casts(narrower), said)


class Agreement(unittest.TestCase):
    def test_an_output_that_overflows_hides_no_other(self):
        exact = [torch.ones(4, dtype=torch.float64), torch.full((4,), 1e39, dtype=torch.float64)]
        eager = [torch.ones(4), torch.full((4,), torch.inf)]
        wrong = [torch.full((4,), 1.5), torch.full((4,), torch.inf)]
        of_eager, dtypes = bench.errors(exact, eager), [torch.float32] * 2
        self.assertTrue(bench.agrees(of_eager, of_eager, dtypes))
        self.assertFalse(bench.agrees(bench.errors(exact, wrong), of_eager, dtypes))
        self.assertEqual(bench.worst(of_eager)["largest"], bench.WRONG)

    def test_every_output_is_judged_by_its_own_dtype(self):
        exact = [torch.ones(4, dtype=torch.float64)] * 2
        eager = [torch.ones(4, dtype=torch.bfloat16), torch.ones(4)]
        off = [eager[0], torch.full((4,), 1.003)]  # less than a rounding of bf16
        of_eager, dtypes = bench.errors(exact, eager), [x.dtype for x in eager]
        self.assertFalse(bench.agrees(bench.errors(exact, off), of_eager, dtypes))
        self.assertTrue(bench.agrees(bench.errors(exact, off), of_eager, [torch.bfloat16] * 2))

    def test_one_row_that_is_wrong_shows(self):
        exact = torch.ones(64, 32, dtype=torch.float64)
        exact[5] = 1e-3
        eager, wrong = exact.float(), exact.float()
        wrong[5] *= 1.001  # 1e-6 of the largest magnitude: nothing, but for the row itself
        of_eager, of_wrong = bench.errors([exact], [eager]), bench.errors([exact], [wrong])
        self.assertLess(of_wrong[0]["largest"], 2e-6)
        self.assertAlmostEqual(of_wrong[0]["row"], 1e-3, places=5)
        self.assertTrue(bench.agrees(of_eager, of_eager, [torch.float32]))
        self.assertFalse(bench.agrees(of_wrong, of_eager, [torch.float32]))


class Notes(unittest.TestCase):
    def rows(self, exported):
        def row(us, **more):
            return {"single": {"median_us": us}, "peak_bytes": 1, **more}

        return {
            "eager": row(2180.0, replay={"median_us": 4830.0}),
            "exported graph": row(exported),
            "composed": row(2000.0),
        }

    def test_a_graph_slower_than_the_module_is_said(self):
        notes = bench.time_notes(self.rows(4910.0))
        self.assertEqual(len(notes), 2, notes)
        self.assertIn("captured as a CUDA graph the module takes 4.83 ms where a call takes 2.18", notes[0])
        self.assertIn("graph of the module takes 4.91 ms where the module takes 2.18 ms", notes[1])

    def test_one_that_is_as_fast_is_not(self):
        self.assertEqual(len(bench.time_notes(self.rows(2200.0))), 1)


if __name__ == "__main__":
    unittest.main()
