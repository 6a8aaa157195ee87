"""Descriptions of nested arguments and results: what they may build, and what loading may import."""

import collections
import dataclasses
import enum
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

import torch
from built import ROOT, needs_ops
from command_line import CommandLine
from torch.utils import _pytree as pytree

from fact._tree import load_spec

Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Result:
    y: torch.Tensor


class Colour(enum.Enum):
    RED = 1


pytree._register_namedtuple(Pair, serialized_type_name="test_tree.Pair")
torch.export.register_dataclass(Result, serialized_type_name="test_tree.Result")


def spec_of(value):
    return pytree.treespec_dumps(pytree.tree_flatten(value)[1])


def node(kind, context, *children):
    return {"type": kind, "context": context, "children_spec": list(children)}


LEAF = node(None, None)


class Specs(unittest.TestCase):
    def refused(self, written, message, declared=(), allow=()):
        text = written if isinstance(written, str) else json.dumps([1, written])
        with self.assertRaisesRegex(ValueError, message):
            load_spec(text, declared, allow)

    def test_pythons_own_containers(self):
        for value in (
            ([1, (2, 3)], {}),
            {"a": 1, 2: [3]},
            collections.OrderedDict(b=1, a=2),
            collections.deque([1, 2], maxlen=3),
            collections.defaultdict(list, {"a": 1}),
            7,
        ):
            flat, spec = pytree.tree_flatten(value)
            self.assertEqual(load_spec(spec_of(value)), spec)
            self.assertEqual(pytree.tree_unflatten(flat, load_spec(spec_of(value))), value)

    def test_declared_classes(self):
        for value, name in ((Pair(1, 2), "test_tree.Pair"), (Result(1), "test_tree.Result")):
            flat, spec = pytree.tree_flatten((value, 3))
            self.assertEqual(load_spec(spec_of((value, 3)), [name]), spec)
            self.refused(spec_of((value, 3)), f"{name} is a class that the package does not declare")

    def test_nothing_is_imported_that_a_description_names(self):
        with tempfile.TemporaryDirectory() as folder:
            marker = pathlib.Path(folder) / "ran"
            (pathlib.Path(folder) / "fact_test_evil.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
            sys.path.insert(0, folder)
            self.addCleanup(sys.path.remove, folder)
            evil = "fact_test_evil.X"
            factory = {
                "default_factory_module": "fact_test_evil",
                "default_factory_name": "X",
                "dict_context": ["a"],
            }
            key = [{"__enum__": True, "fqn": "fact_test_evil:X", "name": "RED"}]
            self.refused(node("collections.defaultdict", factory, LEAF), "a defaultdict of fact_test_evil.X")
            self.refused(node("builtins.dict", json.dumps(key), LEAF), "describes a class")
            self.refused(node(evil, "null", LEAF), "does not declare")
            self.refused(node("collections.namedtuple", evil, LEAF), "does not declare")
            self.refused(node(evil, "null", LEAF), "import fact_test_evil before", [evil])
            self.refused(
                node("test_tree.Result", json.dumps([["y"], key]), LEAF), "describes", ["test_tree.Result"]
            )
            self.assertFalse(marker.exists())
            # With leave it is, and still has to be a class of results.
            self.refused(node(evil, "null", LEAF), "not a class of results", [evil], ["fact_test_evil"])
            self.assertTrue(marker.exists())

    def test_calls_are_not_made_of_functions(self):
        for name in ("os.system", "builtins.eval", "subprocess.Popen", "collections.Counter"):
            self.refused(node(name, "null", LEAF), "does not declare")
            self.refused(node(name, "null", LEAF), "import|not a class of results", [name])
        self.refused(
            node("collections.namedtuple", "test_tree.Result", LEAF), "is not a namedtuple", ["test_tree.Result"]
        )

    def test_damage(self):
        for text in (
            "",
            "{",
            "7",
            "[1]",
            json.dumps([1, {"type": None}]),
            json.dumps([1, node("builtins.list", 7)]),
            json.dumps([1, node("builtins.list", "null", 7)]),
            json.dumps([1, node("collections.defaultdict", None)]),
            "[1, " + "[" * 100_000,
        ):
            self.refused(text, "damaged")
        self.refused(json.dumps([2, LEAF]), "protocol 2")
        self.refused(node(7, None), "7 is a class that the package does not declare")
        self.refused(node(None, None, LEAF), "a leaf with something in it")
        self.refused(node("builtins.dict", '["a", "b"]', LEAF), "without a key for each")
        self.refused(node("builtins.tuple", '"x"'), "more than its elements")

    def test_a_library_that_is_not_there(self):
        name = "diffusers.of_tomorrow.Output"
        self.refused(node(name, "[]"), "install it", [name])


OUTPUTS = """
    import dataclasses
    import functools
    import torch
    from torch.utils import _pytree

    @dataclasses.dataclass
    class BaseModelOutput(dict):
        last_hidden_state: torch.Tensor = None

        def __post_init__(self):
            self["last_hidden_state"] = self.last_hidden_state

    _pytree.register_pytree_node(
        BaseModelOutput,
        lambda output: (list(output.values()), list(output.keys())),
        lambda values, names: BaseModelOutput(**dict(zip(names, values))),
        serialized_type_name="transformers.modeling_outputs.BaseModelOutput",
        flatten_with_keys_fn=_pytree._dict_flatten_with_keys,
    )
"""

WRITE = """
    import json, pathlib, sys
    import torch
    from packages import Up, seal, write_package
    from transformers.modeling_outputs import BaseModelOutput

    class Output(Up):
        def forward(self, x):
            return BaseModelOutput(last_hidden_state=super().forward(x))

    torch.manual_seed(0)
    folder = pathlib.Path(sys.argv[1])
    module, x = Output().eval(), torch.ones(2, 8, 32)
    write_package(folder, module, x)
    seal(folder, classes=["transformers.modeling_outputs.BaseModelOutput"])
    torch.save(module(x).last_hidden_state, folder.parent / "want.pt")
"""

LOAD = """
    import sys
    import torch
    import fact

    assert "transformers" not in sys.modules
    result = fact.load(sys.argv[1])(torch.ones(2, 8, 32))
    assert type(result).__module__ + "." + type(result).__name__ == sys.argv[2], type(result)
    torch.testing.assert_close(result.last_hidden_state, torch.load(sys.argv[3]), rtol=1e-5, atol=1e-6)
"""


@needs_ops
class FreshProcess(unittest.TestCase):
    """Packages whose results are a library's classes load where nobody has imported it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fact-tree-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = [str(ROOT / "python"), str(ROOT / "tests" / "python")]
        (self.folder / "package").mkdir()

    def run_script(self, text, *arguments):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(self.path)}
        command = [sys.executable, "-c", textwrap.dedent(text), *map(str, arguments)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)

    def check(self):
        package = self.folder / "package"
        written = self.run_script(WRITE, package)
        self.assertEqual(written.returncode, 0, written.stderr)
        name = "transformers.modeling_outputs.BaseModelOutput"
        loaded = self.run_script(LOAD, package, name, self.folder / "want.pt")
        self.assertEqual(loaded.returncode, 0, loaded.stderr)

    def test_a_stand_in(self):
        library = self.folder / "library" / "transformers"
        library.mkdir(parents=True)
        (library / "__init__.py").write_text("")
        (library / "modeling_outputs.py").write_text(textwrap.dedent(OUTPUTS))
        self.path.insert(0, str(library.parent))
        self.check()
        del self.path[0]
        # Another library's code is not run for the asking: the message says what to import.
        (self.folder / "package" / "manifest.json").write_text(
            (self.folder / "package" / "manifest.json").read_text().replace("transformers.", "elsewhere.")
        )
        text = (self.folder / "package" / "graph.json").read_text().replace("transformers.", "elsewhere.")
        (self.folder / "package" / "graph.json").write_text(text)
        sealed = self.run_script(
            "import pathlib, sys, packages; packages.seal(pathlib.Path(sys.argv[1]))", self.folder / "package"
        )
        self.assertEqual(sealed.returncode, 0, sealed.stderr)
        refused = self.run_script("import fact, sys; fact.load(sys.argv[1])", self.folder / "package")
        self.assertIn("import elsewhere.modeling_outputs before loading the package", refused.stderr)

    def test_hugging_face(self):
        found = self.run_script("import transformers; print(transformers.__file__)")
        places = [] if found.returncode else [str(pathlib.Path(found.stdout.strip()).parents[1])]
        places += [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
        self.path += places
        if self.run_script("import transformers.modeling_outputs").returncode:
            self.skipTest("transformers is not installed")
        self.check()

SOURCE = """
    import torch
    from transformers.modeling_outputs import BaseModelOutput

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.up = torch.nn.Linear(64, 128)

        def forward(self, x):
            return BaseModelOutput(last_hidden_state=torch.relu(self.up(x)))

    def get_inputs():
        return [torch.randn(16, 64)]

    def get_init_inputs():
        return []
"""


@needs_ops
class Composed(CommandLine):
    def test_a_package_declares_the_classes_of_its_results(self):
        library = self.folder / "library" / "transformers"
        library.mkdir(parents=True)
        (library / "__init__.py").write_text("")
        (library / "modeling_outputs.py").write_text(textwrap.dedent(OUTPUTS))
        path = [str(ROOT / "python"), str(library.parent)]
        self.environment["PYTHONPATH"] = os.pathsep.join(path)
        self.write("model.py", textwrap.dedent(SOURCE))
        made = self.fact("optimize", "model.py", "--dtype", "bf16", "-o", "package")
        self.assertEqual(made.returncode, 0, made.stderr)
        manifest = json.loads((self.folder / "package" / "manifest.json").read_text())
        self.assertEqual(manifest["classes"], ["transformers.modeling_outputs.BaseModelOutput"])
        script = (
            "import fact, torch; x = torch.zeros(16, 64, dtype=torch.bfloat16); "
            "print(type(fact.load('package')(x)).__qualname__)"
        )
        loaded = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", script],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(loaded.stdout, "BaseModelOutput\n", loaded.stderr)


if __name__ == "__main__":
    unittest.main()
