"""A package with a fused call, written by hand, on the CPU: the interpreter runs the kernel."""

import copy
import gc
import json
import pathlib
import shutil
import tempfile
import unittest

import torch
from built import needs_ops
from packages import Scaled, Up, seal, write_package


@needs_ops
class Package(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        folder = tempfile.TemporaryDirectory(prefix="fact-package-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.module, self.x = Up().eval(), torch.randn(2, 8, 32)
        write_package(self.folder, self.module, self.x)

    def load(self):
        from fact.package import load

        return load(self.folder)

    def test_the_kernel_text_computes_the_call(self):
        packaged = self.load()
        with torch.no_grad():
            want, exact = self.module(self.x), self.module.double()(self.x.double())
        got = packaged(self.x)
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)
        # The interpreter computes in f64 and rounds once: eager is not that exact.
        self.assertLess((got - exact).abs().max(), 2e-7)

    def test_autocast_changes_nothing(self):
        packaged = self.load()
        want = packaged(self.x)
        with torch.autocast("cpu", torch.bfloat16):
            got = packaged(self.x)
        self.assertTrue(torch.equal(got, want))

        class Two(torch.nn.Module):  # nothing in it is fused
            def forward(self, x):
                return x @ x.transpose(1, 2)

        from fact.package import load

        archive = self.folder / "two.pt2"
        torch.export.save(torch.export.export(Two(), (self.x,)), str(archive))
        with torch.autocast("cpu", torch.bfloat16):
            self.assertEqual(load(archive)(self.x).dtype, torch.float32)

    def test_numbers_that_json_does_not_have(self):
        class Filled(torch.nn.Module):
            def forward(self, x, fill):
                return x.masked_fill(x < 0, fill)

        from fact.package import load

        for number, other in ((float("-inf"), 0.0), (float("nan"), 1.0), (float("inf"), "inf")):
            archive = self.folder / f"{number}.pt2"
            torch.export.save(torch.export.export(Filled(), (self.x, number)), str(archive))
            filled = load(archive)
            want = Filled()(self.x, number)
            self.assertTrue(torch.equal(filled(self.x, number).nan_to_num(7), want.nan_to_num(7)))
            with self.assertRaisesRegex(ValueError, f"was {number} when the module was traced"):
                filled(self.x, other)

    def test_new_weights_and_strides(self):
        packaged = self.load()
        other = Up().eval()
        packaged.load_state_dict(other.state_dict())
        with torch.no_grad():
            torch.testing.assert_close(packaged(self.x), other(self.x), rtol=1e-5, atol=1e-6)
            turned = torch.randn(8, 2, 32).transpose(0, 1)  # rows do not lie behind one another
            torch.testing.assert_close(packaged(turned), other(turned), rtol=1e-5, atol=1e-6)

    def test_other_shapes_are_refused(self):
        # The graph may hold numbers that follow from those it was traced with.
        with self.assertRaisesRegex(ValueError, r"argument 1 was float32\[2, 8, 32\].*got float32\[3, 5, 32\]"):
            self.load()(torch.randn(3, 5, 32))

    def test_the_mode_is_the_traced_one(self):
        packaged = self.load()
        self.assertFalse(packaged.training)
        packaged.eval()
        with self.assertWarnsRegex(UserWarning, "traced in eval mode"):
            packaged.train()
        self.assertFalse(packaged.training)

    def test_weights_of_another_module_are_refused(self):
        from fact.package import load

        with self.assertRaisesRegex(ValueError, "none of the weights .* it has up"):
            load(self.folder, weights={"module.up.weight": torch.zeros(1)})
        with self.assertRaisesRegex(TypeError, "torch.load gives"):
            load(self.folder, weights="weights.pt")

    def test_weights_that_are_given_are_shared(self):
        from fact.package import load

        other = Up().eval()
        for weights in (other, other.state_dict()):
            packaged = load(self.folder, weights=weights)
            self.assertEqual(packaged.up.weight.data_ptr(), other.up.weight.data_ptr())
            with torch.no_grad():
                torch.testing.assert_close(packaged(self.x), other(self.x), rtol=1e-5, atol=1e-6)
        part = load(self.folder, weights={"up.bias": other.up.bias}, partial=True)
        torch.testing.assert_close(part.up.weight, self.module.up.weight, rtol=0, atol=0)
        with self.assertRaisesRegex(ValueError, r"up.bias was float32\[48\].*got float32\[7\]"):
            load(self.folder, weights={"up.bias": torch.zeros(7)})

    def test_a_package_without_weights_asks_for_them(self):
        from fact.package import load, needs_weights

        self.assertFalse(needs_weights(self.folder))
        seal(self.folder, original={"without_weights": True})
        self.assertTrue(needs_weights(self.folder))
        with self.assertRaisesRegex(ValueError, "made without weights, and .* and 1 more"):
            load(self.folder)
        with torch.no_grad():
            got = load(self.folder, weights=self.module)(self.x)
            torch.testing.assert_close(got, self.module(self.x), rtol=1e-5, atol=1e-6)

    def test_a_copy_outlives_the_original(self):
        packaged = self.load()
        twin = copy.deepcopy(packaged)
        want = packaged(self.x)
        del packaged
        gc.collect()
        torch.testing.assert_close(twin(self.x), want)

    def test_every_call_the_original_takes(self):
        from fact._call import describe

        module = Scaled().eval()
        for part in self.folder.iterdir():
            shutil.rmtree(part) if part.is_dir() else part.unlink()
        original = {
            "parameters": describe(module.forward),
            "state_dict": list(module.state_dict()),
        }
        write_package(self.folder, module, self.x, json.loads(json.dumps(original)))
        packaged = self.load()
        self.assertEqual(list(packaged.state_dict()), ["up.weight", "up.bias"])
        want, x = packaged(self.x), self.x
        for args, kwargs in (
            ((), {"x": x}),
            ((x, 1.0), {}),
            ((x,), {"scale": 1.0}),
            ((), {"scale": 1.0, "x": x, "mask": None}),
        ):
            self.assertTrue(torch.equal(packaged(*args, **kwargs), want))
            self.assertTrue(torch.equal(copy.deepcopy(packaged)(*args, **kwargs), want))
        for args, kwargs, error, text in (
            ((x, 3.0), {}, ValueError, "'scale' was 1.0 when the module was traced, got 3.0"),
            ((x, 1), {}, ValueError, "'scale' was 1.0 .* got 1"),
            ((x,), {"mask": x}, ValueError, "'mask' was None .* got a tensor"),
            ((), {}, TypeError, "'x'"),
            ((x,), {"other": 1}, TypeError, "'other'"),
            ((None,), {}, TypeError, "'x' was a tensor when the module was traced, got NoneType"),
        ):
            with self.assertRaisesRegex(error, text):
                packaged(*args, **kwargs)

    def test_a_package_that_does_not_know_its_signature(self):
        packaged = self.load()
        # The user's arguments are counted, not the weights.
        with self.assertRaisesRegex(TypeError, "argument 1 was a tensor"):
            packaged(None)
        with self.assertRaisesRegex(TypeError, "was traced with the arguments"):
            packaged(x=self.x)

    def test_damage_is_reported(self):
        for name in ("model.pt2", "graph.json", "calls/p01_linear_gelu.json", "kernels/up/kernel.fact"):
            file = self.folder / name
            whole = file.read_bytes()
            at = len(whole) // 2
            for damaged, text in (
                (whole[:at], f"{name} has {at} bytes, not the {len(whole)}"),
                (whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :], f"{name} was changed"),
            ):
                file.write_bytes(damaged)
                with self.assertRaisesRegex(RuntimeError, text + "(.|\n)*`fact optimize`, or `fact compose`"):
                    self.load()
            file.unlink()
            with self.assertRaisesRegex(RuntimeError, f"{name} is missing"):
                self.load()
            file.write_bytes(whole)
        self.load()

    def test_an_edited_kernel_is_refused(self):
        text = self.folder / "kernels" / "up" / "kernel.fact"
        text.write_text(text.read_text().replace("gelu_tanh", "gelu_erf "))
        with self.assertRaisesRegex(RuntimeError, "kernels/up/kernel.fact was changed"):
            self.load()

    def test_a_file_that_the_manifest_does_not_list_is_not_read(self):
        manifest = json.loads((self.folder / "manifest.json").read_text())
        for name in manifest["files"]:
            others = {path: file for path, file in manifest["files"].items() if path != name}
            (self.folder / "manifest.json").write_text(json.dumps(manifest | {"files": others}))
            with self.assertRaisesRegex(RuntimeError, f"{name} is needed, but the manifest"):
                self.load()

    def test_a_wrong_text_that_was_sealed(self):
        (self.folder / "kernels" / "up" / "kernel.fact").write_text("kernel up(")
        seal(self.folder)
        with self.assertRaisesRegex(RuntimeError, "kernel.fact"):
            self.load()

    def test_other_manifests(self):
        manifest = self.folder / "manifest.json"
        for text, message in (
            ('{"format": 1, "calls": []}', "another version of FACT .format 1, not 2."),
            ('{"kind": "fact package", "format": 99, "calls": []}', "another version"),
            ('{"manifest_version": 3, "name": "a web page"}', "not a manifest of a package"),
            ("{", "damaged"),
            (json.dumps(json.loads(manifest.read_text()) | {"calls": [7]}), "calls"),
            (json.dumps(json.loads(manifest.read_text()) | {"files": {"../x": {}}}), "'../x' is not the path of a file"),
        ):
            manifest.write_text(text)
            with self.assertRaisesRegex(RuntimeError, message):
                self.load()


if __name__ == "__main__":
    unittest.main()
