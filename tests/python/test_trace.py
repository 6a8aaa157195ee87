"""What tracing notes of a module: the files and variables it was built from, and its signature."""

import contextlib
import io
import json
import os
import pathlib
import tempfile
import time
import unittest
import unittest.mock

from built import OPS
import torch

from fact import _files, _watch
from fact.trace import load_model, main, save


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fact-watch-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text="text"):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def rest(self):
        """Until what was written is older than anything that begins now."""
        time.sleep(2e-9 * _watch.TICK_NS)


class TriedOut(unittest.TestCase):
    def test_only_what_runs_quickly_on_a_cpu(self):
        from fact import _eager

        calls = []

        class Model(torch.nn.Module):
            def forward(self, x):
                calls.append(x.numel())

        for elements in (8, _eager.FEW_ELEMENTS + 1):  # without weights no product is counted
            _eager.try_out(Model(), [torch.empty(1).expand(int(elements))], "model.py")
        self.assertEqual(calls, [8])


class Watching(InAFolder):
    def test_files_that_were_read_or_looked_for(self):
        read, mapped, appended = self.write("read"), self.write("mapped"), self.write("appended")
        gone, untouched = self.write("gone"), self.write("untouched")
        with _watch.Watch() as watch:
            open(read).close()
            open(gone).close()
            open(appended, "a+").close()
            open(self.folder / "made", "w").close()
            os.close(os.open(os.fsencode(read), os.O_RDONLY))
            torch.UntypedStorage.from_file(mapped, nbytes=4)
            open("/proc/self/status").close()
            open(os.__file__).close()
            with contextlib.suppress(OSError):
                open(self.folder / "missing")
        open(untouched).close()
        os.remove(gone)
        files = watch.files()
        inside = {name: at for name, at in files.items() if name.startswith(str(self.folder))}
        absent = {name for name, at in inside.items() if at == {"absent": True}}
        self.assertEqual(set(inside) - absent, {read, mapped, appended})
        self.assertEqual(absent, {gone, str(self.folder / "missing")})
        self.assertIn(os.path.abspath(__file__), files)  # imported
        self.assertFalse([name for name in files if "/proc/" in name or name == os.__file__])
        self.assertNotIn("from_file", torch.UntypedStorage.__dict__)

    def test_what_torch_keeps_for_itself_is_not_the_modules(self):
        (self.folder / "cache").mkdir()
        kept = self.write("cache/kernel")
        with unittest.mock.patch.dict(os.environ, TORCHINDUCTOR_CACHE_DIR=str(self.folder / "cache")):
            with _watch.Watch() as watch:
                open(kept).close()
                os.path.exists(self.folder / "cache" / "other")
                os.listdir(self.folder / "cache")
            files = watch.files()
        self.assertEqual([name for name in files if name.startswith(str(self.folder))], [])

    def test_temporary_files_are_not_the_modules(self):
        with _watch.Watch() as watch:
            with tempfile.NamedTemporaryFile(dir=self.folder) as file:
                open(file.name).close()
            with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                pathlib.Path(folder, "some").write_text("text")
                pathlib.Path(folder, "some").read_text()
            with open(self.folder / "stays", "x"):
                pass
            open(self.folder / "stays").close()
        inside = {name: at for name, at in watch.files().items() if name.startswith(str(self.folder))}
        self.assertEqual(inside, {str(self.folder / "stays"): None})

    def test_folders_that_were_listed(self):
        self.write("one")
        look = os.stat
        with _watch.Watch() as watch:
            os.path.exists(self.folder / "later")
            os.listdir(self.folder)
            list(os.scandir(os.open(self.folder, os.O_RDONLY)))
        self.assertIs(os.stat, look)
        files = watch.files()
        self.assertEqual(files[str(self.folder / "later")], {"absent": True})
        before = files[str(self.folder)]
        (self.folder / "__pycache__").mkdir()
        self.write(".hidden")
        self.assertEqual(watch.files()[str(self.folder)], before)
        self.write("two")
        self.assertNotEqual(watch.files()[str(self.folder)], before)

    def test_what_was_written_to_meanwhile_has_no_stamp(self):
        edited, replaced, untouched = (self.write(name) for name in ("edited", "replaced", "untouched"))
        other = self.write("other", "newer")
        os.utime(other, (0, 0))
        self.rest()
        with _watch.Watch() as watch:
            for path in (edited, replaced, untouched):
                open(path).close()
            self.write("edited", "newer")
            os.replace(other, replaced)
        files = watch.files()
        self.assertIsNone(files[edited])
        self.assertIsNone(files[replaced])
        self.assertEqual(files[untouched], _watch.stamp(untouched))

    def test_a_relative_path_means_the_folder_of_that_time(self):
        read, before = self.write("read"), os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        with _watch.Watch() as watch:
            open("read").close()
            os.chdir(before)
        self.assertIn(os.path.realpath(read), map(os.path.realpath, watch.files()))

    def test_a_large_file_is_known_by_its_time(self):
        path = self.write("large", "12345")
        self.assertEqual(_watch.stamp(path)["size"], 5)
        self.assertIn("sha256", _watch.stamp(path))
        limit, _watch.LARGE = _watch.LARGE, 4
        self.addCleanup(setattr, _watch, "LARGE", limit)
        self.assertEqual(_watch.stamp(path), {"size": 5, "mtime_ns": os.stat(path).st_mtime_ns})

    def test_variables_that_were_asked_for(self):
        from os import environ

        os.environ["FTA"] = "1"
        self.addCleanup(os.environ.pop, "FTA", None)
        with _watch.Watch() as watch:
            self.assertEqual(environ["FTA"], "1")
            self.assertIsNone(os.environ.get("FTB"))
            self.assertEqual(os.getenv("FTC", "other"), "other")
            self.assertNotIn("FTD", os.environ)
            self.assertIsNone(os.environb.get(b"FTE"))
            with self.assertRaises(KeyError):
                os.environ["FTF"]
            with self.assertRaises(TypeError):
                os.environ[1]
            os.environ["FTG"] = "set"
            del os.environ["FTG"]
        os.environ.get("FTH")
        ours = {name for name in watch.variables if name.startswith("FT")}
        self.assertEqual(ours, {f"FT{letter}" for letter in "ABCDEF"})


class Tracing(InAFolder):
    MODEL = """
import json, os, torch

class Model(torch.nn.Module):
    def __init__(self, path):
        super().__init__()
        self.wide = torch.nn.Linear(4, json.load(open(path))["n"])

    def forward(self, x, scale=2.0):
        return self.wide(x) * (3.0 if os.getenv("FT") else scale)

def get_inputs(): return [torch.randn(2, 4)]
def get_init_inputs(): return [os.path.join(os.path.dirname(__file__), "config.json")]
"""

    def trace(self, *arguments):
        self.rest()
        with contextlib.redirect_stderr(io.StringIO()) as said:
            return main([*map(str, arguments)]), said.getvalue()

    def test_the_listing_names_everything(self):
        model, config = self.write("model.py", self.MODEL), self.write("config.json", '{"n": 3}')
        sources = self.folder / "sources.json"
        code, said = self.trace(model, "-o", self.folder / "m.pt2", "--sources", sources)
        self.assertEqual((code, said), (0, ""))
        listing = json.loads(sources.read_text())
        self.assertEqual(listing["torch"], torch.__version__)
        for file in (model, config, torch.version.__file__):
            self.assertEqual(listing["files"][file], _watch.stamp(file))
        self.assertIn("FT", listing["variables"])
        self.assertNotIn("PATH", listing["variables"])

    def test_an_edit_while_tracing_leaves_no_stamp(self):
        config = self.write("config.json", '{"n": 3}')
        edit = 'def get_inputs(): open(get_init_inputs()[0], "w").write("[]"); return [torch.randn(2, 4)]\n'
        model = self.write("model.py", self.MODEL + edit)
        sources = self.folder / "sources.json"
        self.assertEqual(self.trace(model, "-o", self.folder / "m.pt2", "--sources", sources), (0, ""))
        files = json.loads(sources.read_text())["files"]
        self.assertIsNone(files[config])
        self.assertEqual(files[model], _watch.stamp(model))

    def test_an_archive_without_weights_is_small_and_runs_with_them(self):
        self.write("config.json", '{"n": 100000}')
        model, archive = self.write("model.py", self.MODEL), self.folder / "m.pt2"
        self.assertEqual(self.trace(model, "--without-weights", "-o", archive), (0, ""))
        self.assertLess(archive.stat().st_size, 100_000)
        program = torch.export.load(archive)
        self.assertEqual(program.state_dict["wide.weight"].shape, (100_000, 4))
        # The graph has the strides of the real ones.
        weight = next(node for node in program.graph.nodes if node.name == "p_wide_weight")
        self.assertEqual(weight.meta["val"].stride(), (4, 1))
        if not os.path.exists(OPS):
            return
        from fact.package import load

        module, (x,) = load_model(model)
        with torch.no_grad():
            torch.testing.assert_close(load(archive, weights=module)(x), module(x))

    def test_only_files_are_replaced_and_links_are_followed(self):
        program = torch.export.export(torch.nn.ReLU(), (torch.randn(2),))
        link, pipe = self.folder / "link.pt2", self.folder / "pipe.pt2"
        link.symlink_to("real.pt2")
        save(program, link)
        self.assertTrue(link.is_symlink() and (self.folder / "real.pt2").is_file())
        os.mkfifo(pipe)
        with self.assertRaisesRegex(OSError, "not a regular file"):
            save(program, pipe)
        with self.assertRaisesRegex(OSError, "not a regular file"):
            _files.write_text(pipe, "text")
        self.assertTrue(pipe.is_fifo())
        left = sorted(path.name for path in self.folder.iterdir())
        self.assertEqual(left, ["link.pt2", "pipe.pt2", "real.pt2"])

    def refused(self, text, *parts):
        code, said = self.trace(self.write("odd.py", text), "-o", self.folder / "m.pt2")
        self.assertEqual(code, 2, said)
        self.assertIn("odd.py", said)
        for part in parts:
            self.assertIn(part, said)
        self.assertNotIn("torch.export.export", said)
        self.assertFalse((self.folder / "m.pt2").exists())

    def model(self, body, init="[]"):
        return (
            f"import torch\nclass Model(torch.nn.Module):\n    def __init__(self):\n"
            f"        super().__init__()\n        self.w = torch.nn.Parameter(torch.ones(4))\n"
            f"        {body}\n"
            f"def get_inputs(): return [torch.randn(4)]\ndef get_init_inputs(): return {init}\n"
        )

    def test_what_is_refused_says_why_and_what_to_do(self):
        self.refused(
            self.model("\n    def forward(self, x):\n        x.add_(1)\n        return x * self.w"),
            "changes its input 'x' in place",
            "x = x.clone()",
        )
        self.refused(
            self.model(
                "self.c = torch.nn.Parameter(torch.ones(4, dtype=torch.complex64))\n"
                "    def forward(self, x): return (x * self.c).real"
            ),
            "'c' is complex64",
            "complex tensors are not supported",
        )
        self.refused(
            self.model(
                "self.f = torch.nn.Parameter(torch.ones(4).to(torch.float8_e4m3fn), False)\n"
                "    def forward(self, x): return x * self.f.to(x.dtype)"
            ),
            "'f' is float8_e4m3fn",
            "--dtype bf16",
        )
        self.refused(
            self.model(
                "self.register_buffer('u', torch.ones(4, dtype=torch.uint32))\n"
                "    def forward(self, x): return x * self.u.to(x.dtype)"
            ),
            "'u' is uint32",
            "int64",
        )
        for init in ("{'a': 1}", "None", "3"):
            self.refused(self.model("", init), "get_init_inputs() must return a list or a tuple")
        self.refused("x = 1\0\n", "null bytes")
        self.write("helper.py", "x = 1\0\n")
        self.refused("import helper\n", "odd.py:1", "null bytes", "import helper")


if __name__ == "__main__":
    unittest.main()
