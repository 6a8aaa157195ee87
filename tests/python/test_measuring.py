"""bench/all.sh and the tables it makes, without a GPU: a stand-in for `fact` measures nothing."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from built import ROOT

# Writes what `fact optimize` and `fact bench` leave; a module called gpt2 fails.
STAND_IN = """#!{python}
import json, pathlib, sys, time

words = sys.argv[1:]


def times(us):
    return {{"median_us": us, "low_us": us * 0.99, "high_us": us * 1.01, "runs": 7}}


def row(name, us):
    return {{"name": name, "single": times(us), "sustained": times(1.1 * us), "sustained_of": "calls",
             "errors": {{"largest": 1e-3, "rms": 1e-3, "row": 1e-3}}}}


bench = {{"rows": [row("eager", 3000.0), row("torch.compile", 2000.0), row("composed", 1500.0)]}}
if words[0] == "optimize":
    if "gpt2" in words[1]:
        sys.exit("error: not today")
    run = pathlib.Path(words[words.index("--run-dir") + 1])
    if "cold" in run.name:
        time.sleep(1.5)
    (run / "package").mkdir(parents=True)
    pattern = {{"id": "p00_linear", "where": "a.py:1", "kernel": "k", "fused": True, "why": "",
                "single": times(10.0), "torch_single": times(15.0), "sustained": times(11.0),
                "torch_sustained": times(16.0), "error_compiled": {{"kernel": 1e-3, "eager": 2e-3}}}}
    report = {{"source": words[1], "dtype": "bf16", "patterns": [pattern],
               "statistics": {{"seconds": 12.0}}}}
    (run / "report.json").write_text(json.dumps(report))
    if "--no-bench" not in words:
        (run / "bench.json").write_text(json.dumps(bench))
elif words[0] == "bench":
    peers = [row("max-autotune", 2500.0), {{"name": "max-autotune without graphs", "why": "no tile"}}]
    bench["rows"][2:2] = peers
    pathlib.Path(words[words.index("--json") + 1]).write_text(json.dumps(bench))
"""


class All(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fact-all-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"
        program = self.folder / "fact"
        program.write_text(STAND_IN.format(python=sys.executable))
        program.chmod(0o755)

    def all(self, *parts, **variables):
        work = tempfile.mkdtemp(dir=self.folder)
        return subprocess.run(
            [ROOT / "bench" / "all.sh", self.out, *parts],
            env={
                **os.environ,
                "FACT_PROGRAM": str(self.folder / "fact"),
                "FACT_PYTHON": sys.executable,
                "FACT_BENCH_WORK": work,
                "FACT_COMMIT": "one",
                **variables,
            },
            capture_output=True,
            text=True,
            timeout=300,
        )

    def result(self, part):
        return json.loads((self.out / f"{part}.json").read_text())

    def test_results_and_tables(self):
        done = self.all("minigpt", "peers")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        result = self.result("minigpt")
        self.assertEqual(set(result["runs"]), {"minigpt_cold", "minigpt_again"})
        self.assertEqual(result["commit"], "one")
        self.assertEqual(result["command"], "bench/all.sh OUT minigpt")
        self.assertLessEqual({"date", "versions"}, set(result))
        self.assertIn("gpu", result["versions"])
        self.assertIn(
            "| MiniGPT block, bf16 | 3 ms | 1.50x (1.47 to 1.53), 1.50x | 2.00x (1.96 to 2.04), 2.00x | "
            "3.3 ms, of calls | 12 s, again 12 s |",
            done.stdout,
        )
        self.assertIn("| max-autotune | 2.5 ms | 1.20x (1.18 to 1.22) |", done.stdout)
        self.assertIn("| max-autotune without graphs | no tile |", done.stdout)

    def test_what_is_of_this_commit_is_not_measured_again(self):
        self.all("encoder")
        first = self.result("encoder")
        again = self.all("encoder")
        self.assertIn("encoder.json is of this commit", again.stdout)
        self.assertEqual(self.result("encoder"), first)
        other = self.all("encoder", FACT_COMMIT="two")
        self.assertNotIn("is of this commit", other.stdout)
        self.assertEqual(self.result("encoder")["commit"], "two")

    def test_a_part_that_fails_is_not_done_and_stops_no_other(self):
        done = self.all("gpt2", "mixed")
        self.assertEqual(done.returncode, 1)
        self.assertIn("error: not today", done.stdout)
        self.assertEqual(self.result("gpt2")["missing"], ["gpt2"])
        self.assertEqual(set(self.result("mixed")["runs"]), {"mixed"})
        self.assertNotIn("gpt2.json is of this commit", self.all("gpt2").stdout)

    def test_what_does_not_fit_into_the_time_is_left(self):
        done = self.all("mixed", "llama_model", FACT_BENCH_SECONDS="200")
        self.assertIn("left for the next call: llama_model", done.stdout)
        self.assertTrue((self.out / "mixed.json").exists())
        self.assertFalse((self.out / "llama_model.json").exists())

    def test_runs_of_a_part_share_its_time(self):
        limits = self.folder / "limits"
        timeout = self.folder / "bin" / "timeout"
        timeout.parent.mkdir()
        timeout.write_text(f'#!/bin/sh\n[ "$5" != optimize ] || echo "$3" >>{limits}\nshift 3\nexec "$@"\n')
        timeout.chmod(0o755)
        done = self.all("minigpt", PATH=f"{timeout.parent}:{os.environ['PATH']}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        first, second = map(int, limits.read_text().split())
        self.assertLessEqual(first, 240)
        self.assertLess(second, first)

    def test_an_unknown_part(self):
        done = self.all("minigtp")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown part 'minigtp'; there are ", done.stderr)
        self.assertFalse(self.out.exists())

    def test_tables_take_their_place(self):
        self.all("mixed")
        readme = self.folder / "README.md"
        readme.write_text("before\n<!-- modules -->\nold\n<!-- end of modules -->\nafter\n")
        done = subprocess.run(
            [sys.executable, ROOT / "bench" / "readme.py", self.out, readme],
            capture_output=True,
            text=True,
            check=True,
        )
        text = readme.read_text()
        self.assertTrue(text.startswith("before\n<!-- modules -->\n| module |"), text)
        self.assertTrue(text.endswith("|\n<!-- end of modules -->\nafter\n"), text)
        self.assertIn("| a block FACT knows only in part | 3 ms |", text)
        self.assertIn("chains: nothing was measured", done.stderr)

    def test_no_table_loses_rows_unless_told_to(self):
        self.all("mixed")
        before = (
            "<!-- modules -->\n| module | eager |\n|---|---|\n| a block FACT knows only in part | 9 ms |\n"
            "| another module | 1 ms |\n<!-- end of modules -->\n"
            "<!-- measured -->\n| parts | commit |\n|---|---|\n| mixed, llama | 123 |\n"
            "<!-- end of measured -->\n"
        )
        files = [self.folder / "README.md", self.folder / "OTHER.md"]
        files[0].write_text("<!-- modules -->\n<!-- end of modules -->\n")
        files[1].write_text(before)

        def put(*options):
            command = [sys.executable, ROOT / "bench" / "readme.py", *options, self.out, *files]
            return subprocess.run(command, capture_output=True, text=True)

        done = put()
        self.assertEqual(done.returncode, 1)
        self.assertIn("OTHER.md: modules loses another module\n", done.stderr)
        self.assertIn("OTHER.md: measured loses llama\n", done.stderr)
        self.assertIn("nothing is written", done.stderr)
        self.assertEqual(files[0].read_text(), "<!-- modules -->\n<!-- end of modules -->\n")
        self.assertEqual(files[1].read_text(), before)
        self.assertEqual(put("--drop").returncode, 0)
        self.assertIn("| a block FACT knows only in part | 3 ms |", files[0].read_text())
        self.assertNotIn("another module", files[1].read_text())
        self.assertEqual(put().returncode, 0)

    def test_the_sample_of_chains_is_of_them(self):
        sys.path.insert(0, str(ROOT))
        self.addCleanup(sys.path.remove, str(ROOT))
        from examples import chains

        module, inputs = chains.sample()
        self.assertEqual(len(module(*inputs)), len(chains.SAMPLE))

    def test_every_table_has_its_place(self):
        sys.path.insert(0, str(ROOT / "bench"))
        self.addCleanup(sys.path.remove, str(ROOT / "bench"))
        import readme

        pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
        text = "".join(page.read_text() for page in pages)
        for name in readme.TABLES:
            changed = readme.put(text, name, "nothing")
            self.assertEqual(changed.count(f"<!-- {name} -->\nnothing\n<!-- end of {name} -->"), 1, name)

    def test_the_readme_is_a_page(self):
        self.assertLess((ROOT / "README.md").stat().st_size, 8_000)


if __name__ == "__main__":
    unittest.main()
