"""What a package says of itself while it runs: fallbacks, strictness, several threads."""

import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

import torch
from built import ROOT, needs_ops
from packages import Up, write_package


@needs_ops
class Running(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        folder = tempfile.TemporaryDirectory(prefix="fact-status-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.module, self.x = Up().eval(), torch.randn(2, 8, 32)
        write_package(self.folder, self.module, self.x)

    def load(self, **named):
        from fact.package import load

        return load(self.folder, **named)

    def test_falling_back_is_a_warning_once_a_pattern(self):
        import fact

        package = self.load().double()
        x = self.x.double()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(3):
                got = package(x)
        with torch.no_grad():
            torch.testing.assert_close(got, self.module.double()(x))
        self.assertEqual([warning.category for warning in said], [fact.FallbackWarning])
        self.assertRegex(
            str(said[0].message),
            "^p01_linear_gelu runs as torch's operators, not as its kernel: x is f64, but the kernel takes f32",
        )
        self.assertEqual(pathlib.Path(said[0].filename).name, pathlib.Path(__file__).name)
        (pattern,) = package.status().patterns
        self.assertEqual((pattern.runs, pattern.calls, pattern.fallbacks), (False, 3, 3))

    def test_a_warning_may_be_an_error(self):
        import fact

        package = self.load().double()
        with warnings.catch_warnings():
            warnings.simplefilter("error", fact.FallbackWarning)
            with self.assertRaisesRegex(fact.FallbackWarning, "p01_linear_gelu"):
                package(self.x.double())

    def test_the_status_counts_and_gives_reasons(self):
        package = self.load()
        package(self.x)
        (pattern,) = package.status().patterns
        self.assertEqual((pattern.name, pattern.kernel), ("p01_linear_gelu", "up"))
        self.assertEqual((pattern.calls, pattern.fallbacks), (1, 0))
        self.assertFalse(pattern.runs)  # on a CPU its text is interpreted
        self.assertRegex(pattern.reason, "there is no GPU|the module is on cpu|kernel.cubin")
        text = str(package.status())
        self.assertIn("on cpu: 0 of 1 kernels run", text)
        self.assertIn("p01_linear_gelu  does not run: ", text)
        self.assertIn("weights stored: 2\n  up.bias\n  up.weight", text)

    def test_the_status_says_what_is_copied_into_a_cat(self):
        from fact._status import Status, patterns

        call = dict.fromkeys(("by_kernel", "by_interpreter", "by_torch", "elsewhere"), 0)
        call |= {"call": "p0", "kernel": "up", "cannot_run": "", "fell_back": "", "wrote_elsewhere": ""}
        found = patterns(
            [
                call | {"by_kernel": 3},
                call | {"by_kernel": 3, "elsewhere": 2, "wrote_elsewhere": "y is not contiguous"},
            ]
        )
        self.assertEqual([one.copies for one in found], [0, 2])
        text = str(Status("package", "cuda:0", found, {}))
        self.assertIn("runs (3 calls, 0 by torch's operators)\n", text)
        self.assertIn("by torch's operators, 2 copied into a cat: y is not contiguous)", text)

    def test_strict_refuses_what_cannot_run(self):
        # There is no cubin in this package, with or without a GPU.
        with self.assertRaisesRegex(
            RuntimeError, "strict=True, and the kernel of p01_linear_gelu cannot run: "
        ):
            self.load(strict=True)

    def test_a_refreshed_package_computes_the_same(self):
        package = self.load()
        before = package(self.x)
        package.refresh()
        self.assertTrue(torch.equal(package(self.x), before))

    def test_threads_that_call_it_first_agree(self):
        package, results = self.load(), [None] * 8
        start = threading.Barrier(len(results))

        def work(i):
            start.wait()
            results[i] = package(self.x)
            package.refresh()

        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(results))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result in results:
            self.assertTrue(torch.equal(result, results[0]))
        self.assertEqual(package.status().patterns[0].calls, len(results))

    def test_threads_that_load_and_drop_it(self):
        results = []

        def work():
            for _ in range(4):
                results.append(self.load(weights=self.module)(self.x))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(results), 16)
        for result in results:
            self.assertTrue(torch.equal(result, results[0]))

    def test_processes_that_load_one_folder(self):
        torch.save(self.x, self.folder.with_suffix(".x"))
        self.addCleanup(self.folder.with_suffix(".x").unlink)
        program = (
            "import sys, torch, fact\n"
            "package = fact.load(sys.argv[1])\n"
            "print(package(torch.load(sys.argv[2])).double().sum().item())"
        )
        arguments = [sys.executable, "-c", program, str(self.folder), str(self.folder.with_suffix(".x"))]
        running = [
            subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=ROOT / "python")
            for _ in range(2)
        ]
        said = [process.communicate(timeout=300)[0] for process in running]
        self.assertEqual([process.returncode for process in running], [0, 0])
        want = self.load()(self.x).double().sum().item()
        self.assertEqual([float(text) for text in said], [want, want])


if __name__ == "__main__":
    unittest.main()
