"""Packages and kernels under torch.compile, torch.export and torch.jit.trace: they stay what they
are, one operator that runs kernels."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch
from built import OPS, ROOT, needs_ops
from packages import Scaled, Up, write_package
from test_executor import Counter, export
from test_kernel import SCALED, TEXT
from torch import nn

PRODUCTS = {"aten::mm", "aten::addmm", "aten::linear", "aten::bmm", "aten::gelu"}


def operators(call, *args):
    """The names of those that ran, torch's and ours."""
    with torch.no_grad(), torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU]
    ) as profile:
        call(*args)
    return {event.key for event in profile.key_averages()}


class Around(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part

    def forward(self, x):
        return self.part(x * 2).relu() + 1


class Views(nn.Module):
    """Results that are inputs, weights, parts of them and of each other."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 6))

    def forward(self, x):
        y = x + self.weight
        a, b = y.split(3, dim=1)
        return x, self.weight, self.weight.t(), a, b, y[:, 1:2].expand(4, 6), y.t(), y.t()


class Structured(nn.Module):
    def forward(self, pair, options):
        first, second = pair
        return {"sum": first + second, "more": [options["gain"] * first, None]}


@needs_ops
class Compiled(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        os.environ.setdefault("FACT_OPS", OPS)
        torch._dynamo.reset()
        folder = tempfile.TemporaryDirectory(prefix="fact-compiled-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.x = torch.randn(2, 8, 32)

    def package(self, module=None, known=None):
        from fact.package import load

        (self.folder / "up").mkdir()
        write_package(self.folder / "up", module or Up().eval(), self.x, known)
        return load(self.folder / "up")

    def archive(self, module, *inputs):
        from fact.package import load

        export(module, inputs, self.folder / "model.pt2")
        return load(self.folder / "model.pt2")

    def keeps_kernels(self, call, want, *args, of="fact::run_package"):
        with torch.no_grad():
            torch.testing.assert_close(call(*args), want, rtol=1e-5, atol=1e-6)
        ran = operators(call, *args)
        self.assertIn(of, ran)
        self.assertFalse(ran & PRODUCTS, ran)

    def test_torch_compile(self):
        packaged = self.package()
        around = Around(packaged)
        want = around(self.x)
        for module, expected in ((packaged, packaged(self.x)), (around, want)):
            for backend in ("eager", "aot_eager", "inductor"):
                with self.subTest(backend=backend, module=type(module).__name__):
                    compiled = torch.compile(module, backend=backend, fullgraph=True)
                    self.keeps_kernels(compiled, expected, self.x)

    def test_one_graph_serves_copies_with_other_weights(self):
        from fact.package import load

        packaged = self.package()
        layers = [load(packaged.path, weights=Up().eval()) for _ in range(12)]
        counter = torch._dynamo.testing.CompileCounter()

        @torch.compile(backend=counter, fullgraph=True)
        def run(layer, x):
            return layer(x)

        for layer in layers:
            torch.testing.assert_close(run(layer, self.x), layer(self.x))
        self.assertLessEqual(counter.frame_count, 2)

    def test_every_way_to_call_it(self):
        from fact._call import describe

        module = Scaled().eval()
        packaged = self.package(module, {"parameters": describe(module.forward)})
        want = packaged(self.x)
        for args, kwargs in (((), {"x": self.x}), ((self.x, 1.0), {}), ((self.x,), {"mask": None})):
            torch._dynamo.reset()
            compiled = torch.compile(packaged, backend="eager", fullgraph=True)
            torch.testing.assert_close(compiled(*args, **kwargs), want)

    def test_structured_arguments_and_results(self):
        inputs = ((torch.randn(3), torch.randn(3)), {"gain": torch.rand(3)})
        module = Structured()
        packaged = self.archive(module, *inputs)
        compiled = torch.compile(packaged, backend="aot_eager", fullgraph=True)
        want, got = module(*inputs), compiled(*inputs)
        self.assertIsNone(got["more"][1])
        torch.testing.assert_close((got["sum"], got["more"][0]), (want["sum"], want["more"][0]))

    def test_torch_export(self):
        packaged = self.package()
        want = packaged(self.x)
        for strict in (False, True):
            with self.subTest(strict=strict):
                program = torch.export.export(packaged, (self.x,), strict=strict)
                self.keeps_kernels(program.module(), want, self.x)
                program = program.run_decompositions()
                targets = {str(node.target) for node in program.graph.nodes if node.op == "call_function"}
                self.assertIn("fact.run_package.default", targets)
                self.assertNotIn("aten.mm.default", targets)

    def test_torch_jit_trace(self):
        packaged = self.package()
        traced = torch.jit.trace(packaged, (self.x,))
        self.keeps_kernels(traced, packaged(self.x), self.x)
        self.assertIn("fact::run_package", str(traced.inlined_graph))

    def test_what_was_saved_runs_in_another_process(self):
        packaged = self.package()
        torch.save({"x": self.x, "want": packaged(self.x)}, self.folder / "values.pt")
        torch.save(packaged, self.folder / "module.pt")
        torch.export.save(torch.export.export(packaged, (self.x,)), self.folder / "program.pt2")
        torch.jit.trace(packaged, (self.x,)).save(self.folder / "traced.pt")
        script = (
            "import torch, fact\n"
            "fact.load_operators()\n"
            "v = torch.load('values.pt')\n"
            "for m in (torch.load('module.pt', weights_only=False),\n"
            "          torch.export.load('program.pt2').module(), torch.jit.load('traced.pt')):\n"
            "    torch.testing.assert_close(m(v['x']), v['want'])\n"
        )
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_buffers_are_written(self):
        packaged = self.archive(Counter(), torch.zeros(2))
        compiled = torch.compile(packaged, backend="aot_eager", fullgraph=True)
        self.assertEqual(compiled(torch.zeros(2)).tolist(), [1.0, 1.0])
        self.assertEqual(packaged(torch.zeros(2)).tolist(), [2.0, 2.0])
        self.assertEqual(compiled(torch.zeros(2)).tolist(), [3.0, 3.0])
        self.assertEqual(packaged.seen.item(), 3.0)
        program = torch.export.export(packaged, (torch.zeros(2),)).run_decompositions({})
        self.assertEqual(list(program.graph_signature.buffers_to_mutate.values()), ["seen"])
        self.assertEqual(program.module()(torch.zeros(2)).tolist(), [4.0, 4.0])

    def test_results_are_nobody_elses(self):
        module, x = Views(), torch.randn(4, 6)
        packaged = self.archive(module, x)
        with torch.no_grad():
            want = module(x)
        for call in (packaged, torch.compile(packaged, backend="aot_eager", fullgraph=True)):
            with torch.no_grad():
                got = call(x)
            torch.testing.assert_close(got, want, rtol=0, atol=0)
            before, weight = x.clone(), packaged.weight.clone()
            for result in got:
                result.fill_(7)
            self.assertTrue(torch.equal(x, before) and torch.equal(packaged.weight, weight))
            storages = [result.untyped_storage().data_ptr() for result in got]
            self.assertEqual(len(set(storages)), len(storages))

    def test_the_operator_keeps_torchs_rules(self):
        packaged = self.package()
        tensors = [packaged.up.weight.detach(), packaged.up.bias.detach(), self.x]
        torch.library.opcheck(torch.ops.fact.run_package.default, (packaged._package.name, tensors))
        views, x = self.archive(Views(), torch.randn(4, 6)), torch.randn(4, 6)
        torch.library.opcheck(
            torch.ops.fact.run_package.default, (views._package.name, [views.weight.detach(), x])
        )

    def test_other_shapes_are_refused(self):
        packaged, other = self.package(), torch.randn(3, 5, 32)
        message = r"\[2, 8, 32\].* when the module was traced"
        with self.assertRaisesRegex(ValueError, message):
            torch.compile(packaged, backend="eager")(other)
        name, weights = packaged._package.name, [packaged.up.weight, packaged.up.bias]
        with self.assertRaisesRegex(ValueError, message):
            torch.ops.fact.run_package(name, [*weights, other])
        with torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True) as mode:
            fake = mode.from_tensor(self.x)
            result = torch.ops.fact.run_package(name, [*weights, fake])[0]
            self.assertEqual(result.shape, (2, 8, 48))
            with self.assertRaisesRegex(ValueError, message):
                torch.ops.fact.run_package(name, [*weights, mode.from_tensor(other)])

    def test_sizes_that_may_change(self):
        packaged = self.package()
        compiled = torch.compile(packaged, backend="aot_eager", fullgraph=True, dynamic=True)
        torch.testing.assert_close(compiled(self.x), packaged(self.x))

    def test_gradients_are_refused(self):
        packaged = self.package()
        wanting = self.x.clone().requires_grad_()
        for call in (packaged, torch.compile(packaged, backend="aot_eager", fullgraph=True)):
            with self.assertRaisesRegex(RuntimeError, "requires a gradient and packages have no"):
                call(wanting)
            with torch.no_grad():
                call(wanting)

    def test_another_element_type(self):
        packaged, x = self.package().double(), self.x.double()
        compiled = torch.compile(packaged, backend="aot_eager", fullgraph=True)
        got = compiled(x)
        self.assertEqual(got.dtype, torch.float64)
        torch.testing.assert_close(got, packaged(x))


@needs_ops
class Kernels(unittest.TestCase):
    def setUp(self):
        os.environ.setdefault("FACT_OPS", OPS)
        torch._dynamo.reset()
        folder = tempfile.TemporaryDirectory(prefix="fact-kernel-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def kernel(self, text):
        import fact

        (self.folder / "kernel.fact").write_text(text)
        return fact.kernel(self.folder)

    def test_torch_compile(self):
        kernel = self.kernel(TEXT)
        x, w = torch.randn(5, 16).bfloat16(), torch.randn(7, 16).bfloat16()

        @torch.compile(backend="inductor", fullgraph=True)
        def run(x, w):
            y, largest = kernel(x, w=w)
            return y * 2, largest

        y, largest = kernel(x, w)
        torch.testing.assert_close(run(x, w), (y * 2, largest))
        self.assertIn("fact::run_kernel", operators(run, x, w))

    def test_sizes_that_change(self):
        kernel = self.kernel(SCALED)
        counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
        run = torch.compile(lambda x: kernel(x, 2.0), backend=counter, fullgraph=True)
        for rows in (3, 4, 5, 6, 7):
            x = torch.randn(rows, 4)
            torch.testing.assert_close(run(x), x * 2)
        self.assertLessEqual(counter.frame_count, 2)

    def test_what_does_not_fit(self):
        kernel = self.kernel(TEXT)
        run = torch.compile(kernel, backend="aot_eager")
        x, w = torch.randn(5, 16).bfloat16(), torch.randn(7, 12).bfloat16()
        with self.assertRaisesRegex(RuntimeError, "dimension K is 12 in w and 16 elsewhere"):
            run(x, w)

    def test_gradients_are_refused(self):
        kernel, x = self.kernel(SCALED), torch.randn(3, 4, requires_grad=True)
        with self.assertRaisesRegex(RuntimeError, "x requires a gradient and kernels have no"):
            kernel(x, 2.0)
        with torch.no_grad():
            kernel(x, 2.0)

    def test_the_operator_keeps_torchs_rules(self):
        kernel = self.kernel(SCALED)
        torch.library.opcheck(
            torch.ops.fact.run_kernel.default,
            (kernel._name, [torch.randn(3, 4), torch.tensor(2.0)]),
        )


if __name__ == "__main__":
    unittest.main()
