"""Which operators a package may call, from outside."""

import gc
import json
import pathlib
import tempfile
import unittest

import torch
from built import needs_ops
from packages import Up, seal, write_package

LIBRARY = torch.library.Library("fact_test_library", "DEF")
LIBRARY.define("twice(Tensor x) -> Tensor")
LIBRARY.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")


@needs_ops
class Operators(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        folder = tempfile.TemporaryDirectory(prefix="fact-operators-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.module, self.x = Up().eval(), torch.randn(2, 8, 32)
        write_package(self.folder, self.module, self.x)

    def call(self, target, *inputs):
        """Puts a call behind the package's own."""
        graph = json.loads((self.folder / "graph.json").read_text())
        like = next(value for value in graph["values"] if value["name"] == "gelu")
        graph["values"].append({**like, "name": "more"})
        node = {"name": "more", "target": target, "inputs": list(inputs), "outputs": ["more"]}
        graph["nodes"].append(node)
        graph["outputs"] = [{"value": "more"}]
        (self.folder / "graph.json").write_text(json.dumps(graph))

    def load(self, **options):
        from fact import load

        return load(self.folder, **options)

    def test_a_librarys_operators_are_declared_and_allowed(self):
        self.call("fact_test_library.twice.default", {"name": "x", "value": {"value": "gelu"}})
        seal(self.folder)
        message = "fact_test_library.twice.default, of the namespace fact_test_library, which its manifest does not"
        with self.assertRaisesRegex(RuntimeError, message):
            self.load(allow=["fact_test_library"])
        seal(self.folder, namespaces=["aten", "fact_test_library"])
        with self.assertRaisesRegex(RuntimeError, r'not torch.s own\n.*allow=\["fact_test_library"\]'):
            self.load()
        with torch.no_grad():
            want = self.module(self.x) * 2
        packaged = self.load(allow=["fact_test_library"])
        torch.testing.assert_close(packaged(self.x), want, rtol=1e-5, atol=1e-6)

    def test_the_operators_of_a_call_are_checked_too(self):
        path = self.folder / "calls" / "p01_linear_gelu.json"
        call = json.loads(path.read_text())
        call["original"]["nodes"][1]["target"] = "fact_test_library.twice.default"
        path.write_text(json.dumps(call))
        seal(self.folder)
        with self.assertRaisesRegex(RuntimeError, "node gelu calls fact_test_library.twice.default"):
            self.load()

    def test_files_are_out_of_reach(self):
        victim = self.folder.parent / "victim"
        victim.write_text("text")
        self.addCleanup(victim.unlink)
        self.call(
            "aten.from_file.default",
            {"name": "filename", "value": {"string": str(victim)}},
            {"name": "shared", "value": {"bool": True}},
            {"name": "size", "value": {"int": 768}},
        )
        seal(self.folder)
        with self.assertRaisesRegex(RuntimeError, "aten.from_file.default, which opens files"):
            self.load(allow=["aten"])
        self.assertEqual(victim.read_text(), "text")

    def test_an_exported_program_says_what_to_allow(self):
        self.call("fact_test_library.twice.default", {"name": "x", "value": {"value": "gelu"}})
        seal(self.folder, namespaces=["aten", "fact_test_library"])
        packaged = self.load(allow=["fact_test_library"])
        name, tensors = packaged._package.name, packaged._tensors([self.x])
        del packaged
        gc.collect()
        with self.assertRaisesRegex(RuntimeError, r'opened again: (.|\n)*allow=\["fact_test_library"\]'):
            torch.ops.fact.run_package(name, tensors, False)

    def test_names_that_are_none(self):
        from fact import load

        for allow in ("torchvision", [3]):
            with self.assertRaisesRegex(TypeError, "allow is a list of names"):
                self.load(allow=allow)
        with self.assertRaisesRegex(ValueError, "the path is empty"):
            load("")

    def test_an_archive_has_no_manifest_to_declare(self):
        from fact import load

        class Twice(torch.nn.Module):
            def forward(self, x):
                return torch.ops.fact_test_library.twice(x)

        path = self.folder / "twice.pt2"
        with torch.no_grad():
            torch.export.save(torch.export.export(Twice(), (self.x,)), str(path))
        with self.assertRaisesRegex(RuntimeError, r"allow=\[.fact_test_library.\]"):
            load(path)
        torch.testing.assert_close(load(path, allow=["fact_test_library"])(self.x), self.x * 2)


if __name__ == "__main__":
    unittest.main()
