"""A package is that package wherever it goes: pickled, copied, in another process, beside others."""

import copy
import gc
import io
import json
import multiprocessing
import os
import pathlib
import pickle
import shutil
import tempfile
import unittest

import torch
from built import OPS, needs_ops
from packages import Up, write_package
from test_kernel import SCALED


def emptied(folder):
    shutil.rmtree(folder)
    folder.mkdir()
    return folder


def saved(module):
    file = io.BytesIO()
    torch.save(module, file)
    return file.getvalue()


def loaded(data):
    return torch.load(io.BytesIO(data), weights_only=False)


def call(module, x, results):
    results.put(module(x).tolist())


@needs_ops
class Identity(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        os.environ.setdefault("FACT_OPS", OPS)
        folder = tempfile.TemporaryDirectory(prefix="fact-identity-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.x = torch.randn(2, 8, 32)

    def written(self, name, made="first"):
        """A package of weights of its own; `made` tells its manifest from another's."""
        folder = self.root / name
        folder = emptied(folder) if folder.exists() else folder
        folder.mkdir(exist_ok=True)
        module = Up().eval()
        write_package(folder, module, self.x, {"made": made})
        return folder, module

    def load(self, name, made="first"):
        import fact

        folder, module = self.written(name, made)
        return fact.load(folder), module

    def same(self, packaged, module):
        with torch.no_grad():
            torch.testing.assert_close(packaged(self.x), module(self.x), rtol=1e-5, atol=1e-6)

    def test_a_pickle_beside_another_package(self):
        first, module = self.load("first")
        data = saved(first)
        del first
        other, other_module = self.load("other")
        again = loaded(data)
        self.same(again, module)
        self.same(other, other_module)
        self.assertEqual(again.path, str(self.root / "first"))
        self.same(pickle.loads(pickle.dumps(again)), module)

    def test_where_the_path_is_relative(self):
        import fact

        folder, module = self.written("first")
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.root)
        data = saved(fact.load("first"))
        os.chdir(before)
        self.same(loaded(data), module)

    def test_another_package_at_the_path_is_refused(self):
        packaged, _ = self.load("first")
        data, name = saved(packaged), packaged._package.name
        del packaged
        gc.collect()
        self.written("first", "anew")
        with self.assertRaises(RuntimeError) as refused:
            loaded(data)
        for words in (str(self.root / "first"), name.split()[0], "now it has", "put the folder"):
            self.assertIn(words, str(refused.exception))
        with self.assertRaisesRegex(RuntimeError, "is not what it was"):
            torch.ops.fact.run_package(name, [self.x])
        shutil.rmtree(self.root / "first")
        with self.assertRaisesRegex(RuntimeError, "cannot be opened again"):
            loaded(data)

    def test_a_package_that_was_written_anew(self):
        old, old_module = self.load("first")
        twin = copy.deepcopy(old)
        new, new_module = self.load("first", "anew")
        self.same(old, old_module)
        self.same(twin, old_module)
        self.same(new, new_module)
        self.assertNotEqual(old._package.name, new._package.name)

    def test_copies_share(self):
        import fact

        packaged, module = self.load("first")
        self.assertIs(copy.deepcopy(packaged)._package, packaged._package)
        self.assertIs(copy.copy(packaged)._package, packaged._package)
        again = fact.load(packaged.path)
        del packaged
        self.same(again, module)

    def test_other_processes(self):
        packaged, module = self.load("first")
        with torch.no_grad():
            want = module(self.x)
        for method in ("spawn", "fork"):
            context = multiprocessing.get_context(method)
            results = context.Queue()
            process = context.Process(target=call, args=(packaged, self.x, results))
            process.start()
            got = torch.tensor(results.get(timeout=120))
            process.join()
            torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)

    def test_names_that_are_none(self):
        from fact._ops import ops

        for name in ("", "0", "first", "f" * 64, "x" * 64 + " /path"):
            with self.assertRaisesRegex(RuntimeError, "names no package"):
                ops().run_package(name, [self.x])


@needs_ops
class Kernels(unittest.TestCase):
    def setUp(self):
        os.environ.setdefault("FACT_OPS", OPS)
        folder = tempfile.TemporaryDirectory(prefix="fact-identity-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.text = self.folder / "kernel.fact"
        self.text.write_text(SCALED)

    def test_pickles_and_copies(self):
        import fact

        kernel, x = fact.kernel(self.folder), torch.randn(3, 4)
        self.assertIs(copy.deepcopy(kernel), kernel)
        data = pickle.dumps(kernel)
        torch.testing.assert_close(pickle.loads(data)(x, 2), x * 2)
        del kernel
        torch.testing.assert_close(pickle.loads(data)(x, 2), x * 2)
        self.text.write_text(SCALED.replace("x * alpha", "x + alpha"))
        with self.assertRaisesRegex(RuntimeError, "is not what it was"):
            pickle.loads(data)
        torch.testing.assert_close(fact.kernel(self.folder)(x, 2), x + 2)
        self.text.unlink()
        with self.assertRaisesRegex(RuntimeError, "opened again: .*kernel.fact.*\n.*put the folder"):
            pickle.loads(data)

    def test_every_file_counts(self):
        import fact

        data = pickle.dumps(fact.kernel(self.folder))
        (self.folder / "record.json").write_text(json.dumps({}))
        with self.assertRaisesRegex(RuntimeError, "is not what it was"):
            pickle.loads(data)


if __name__ == "__main__":
    unittest.main()
