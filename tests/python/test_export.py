"""`fact export --kernelbench`: ModelNew has the weights that Model draws, and the package's results."""

import pathlib
import textwrap
import unittest

import torch
from built import needs_ops
from command_line import CommandLine
from packages import seal, write_package

SEED = 42  # the evaluator's; packages are traced with another

PROBLEM = """
    import torch

    class Model(torch.nn.Module):
        def __init__(self, inner, outer=48):
            super().__init__()
            self.up = torch.nn.Linear(inner, outer)

        def forward(self, x):
            return torch.nn.functional.gelu(self.up(x), approximate="tanh")

    def get_inputs():
        return [torch.randn(2, 8, 32)]

    def get_init_inputs():
        return [32]
"""

WITH_STATISTICS = """
    import torch

    class Model(torch.nn.Module):
        def __init__(self, width, scale):
            super().__init__()
            self.up = torch.nn.Linear(width, width)
            self.scale = torch.nn.Parameter(torch.randn(width) * scale)
            self.norm = torch.nn.BatchNorm1d(width)

        def forward(self, x):
            return self.norm(torch.relu(self.up(x)) * self.scale)

    def get_inputs():
        return [torch.randn(16, 64)]

    def get_init_inputs():
        return [64, 2.0]
"""


def models(problem, solution):
    """Model and ModelNew as KernelBench builds them: both files in one namespace, the same seed before
    each; and the problem's inputs."""
    context = {}
    exec(pathlib.Path(problem).read_text(), context)
    reference, arguments = context["Model"], context["get_init_inputs"]()
    exec(pathlib.Path(solution).read_text(), context)
    made = []
    with torch.no_grad():
        for kind in (reference, context["ModelNew"]):
            torch.manual_seed(SEED)
            made.append(kind(*arguments).to(device="cpu", dtype=torch.float32))
    return *made, context["get_inputs"]()


class Export(CommandLine):
    def setUp(self):
        super().setUp()
        self.problem = self.write("problem.py", textwrap.dedent(PROBLEM))
        self.package = self.folder / "package"
        self.package.mkdir()

    def write_package(self, **manifest):
        context = {}
        exec(pathlib.Path(self.problem).read_text(), context)
        torch.manual_seed(0)
        write_package(self.package, context["Model"](32).eval(), *context["get_inputs"]())
        seal(self.package, **{"source": self.problem, **manifest})

    @needs_ops
    def test_model_new_is_model(self):
        self.write_package()
        done = self.fact("export", "--kernelbench", "package", "-o", "new.py")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("wrote new.py\n", done.stdout)
        self.assertIn("traced in eval mode", done.stdout)
        model, new, inputs = models(self.problem, self.folder / "new.py")
        self.assertEqual(type(new).__name__, "ModelNew")
        self.assertEqual(set(new.state_dict()), set(model.state_dict()))
        for name, weight in model.state_dict().items():
            torch.testing.assert_close(new.state_dict()[name], weight, rtol=0, atol=0)
        self.assertEqual(set(new.status().weights.values()), {"given"})
        with torch.no_grad():
            torch.testing.assert_close(new(*inputs), model(*inputs), rtol=1e-4, atol=1e-4)

    @needs_ops
    def test_a_source_that_has_moved(self):
        self.write_package(source="gone.py", training=True)
        command = ["export", "--kernelbench", "package", "-o", "new.py"]
        self.refused(self.fact(*command), "made from gone.py, which is not a file", "--source FILE")
        done = self.fact(*command, "--source", "problem.py")
        self.assertEqual(done.stdout, "wrote new.py\n", done.stderr)
        # Absolute: the evaluator runs elsewhere.
        self.assertIn(f'PROBLEM = "{self.problem}"\n', (self.folder / "new.py").read_text())

    @needs_ops
    def test_what_is_there_is_not_lost(self):
        self.write_package()
        there = self.files()
        command = ["export", "--kernelbench", "package", "-o"]
        self.refused(self.fact(*command, "problem.py"), "problem.py exists and is not a file of `fact export`")
        self.assertEqual(pathlib.Path(self.problem).read_text(), textwrap.dedent(PROBLEM))
        self.refused(self.fact(*command, "nowhere/new.py"), "nowhere is not a folder")
        self.refused(self.fact(*command, "package"), "it is a folder")
        self.assertEqual(self.files(), there)
        for _ in range(2):  # what it wrote itself is replaced
            self.assertEqual(self.fact(*command, "new.py").returncode, 0)
        self.assertEqual(self.files(), sorted([*there, "new.py"]))

    def test_no_package(self):
        for folder in ("package", "missing"):
            result = self.fact("export", "--kernelbench", folder, "-o", "new.py")
            self.refused(result, f"{folder} is not a package", "fact optimize")
        self.write("package/manifest.json", "{}")
        self.refused(self.fact("export", "--kernelbench", "package", "-o", "new.py"), "manifest.json is damaged")
        self.refused(self.fact("export", "package", "-o", "new.py"), "--kernelbench is required")
        self.refused(self.fact("export", "--kernelbench", "package"), "--output is required")
        self.assertEqual(self.files(), ["package", "problem.py"])

    @needs_ops
    def test_a_composed_package_in_training_mode(self):
        source = self.write("normed.py", textwrap.dedent(WITH_STATISTICS))
        made = self.fact("optimize", "normed.py", "--training", "--effort", 1, "-o", "composed")
        self.assertEqual(made.returncode, 0, made.stderr)
        done = self.fact("export", "--kernelbench", "composed", "-o", "new.py")
        self.assertEqual(done.stdout, "wrote new.py\n", done.stderr)
        model, new, inputs = models(source, self.folder / "new.py")
        with torch.no_grad():
            torch.testing.assert_close(new(*inputs), model(*inputs), rtol=1e-4, atol=1e-4)
        self.assertEqual(list(new.state_dict()), list(model.state_dict()))
        # The statistics are the batch's, and both modules keep count.
        for name, value in model.state_dict().items():
            torch.testing.assert_close(new.state_dict()[name], value, rtol=1e-4, atol=1e-5)
        self.assertEqual(new.state_dict()["norm.num_batches_tracked"], 1)


if __name__ == "__main__":
    unittest.main()
