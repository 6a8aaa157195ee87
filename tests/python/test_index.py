"""`fact examples`: what ships, what a registry makes, and what is found for a text or a run."""

import json
import subprocess
import sys
import unittest

from command_line import ROOT, TWO_LINEARS, CommandLine, model

TEXT = """kernel mlp(x: bf16[M, K], w: bf16[N, K], b: bf16[N], r: bf16[M, N]) -> (y: bf16[M, N]) {
  y = r + gelu_tanh(x @ w.T + b)
}
"""


class Examples(CommandLine):
    def ok(self, *arguments, **more):
        done = self.fact("examples", *arguments, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refuses(self, said, *arguments):
        self.refused(self.fact("examples", *arguments), said)

    def test_what_ships_is_listed_and_shown(self):
        listed = json.loads(self.ok("list", "--json"))
        self.assertGreater(len(listed), 30)
        self.assertIn(f"{len(listed)} examples", self.ok("list"))
        one = listed[0]
        shown = self.ok("show", one["name"])
        self.assertEqual(shown, (ROOT / "index" / "sm90a" / f"{one['name']}.fact").read_text())
        self.assertTrue(shown.endswith(one["text"]))
        self.refuses("did you mean", "show", one["name"] + "x")
        self.refuses("there are some for sm90a", "list", "--arch", "sm80")

    def test_every_example_is_a_text_of_the_language(self):
        files = sorted((ROOT / "index" / "sm90a").glob("*.fact"))
        self.assertTrue(files)
        for file in files:
            done = self.fact("kernel", "check", file)
            self.assertEqual(done.returncode, 0, f"{file}: {done.stdout}{done.stderr}")

    def test_the_nearest_to_a_text(self):
        text = self.write("mlp.fact", TEXT)
        sizes = ["--set", "M=8192", "--set", "N=3072", "--set", "K=768"]
        found = json.loads(self.ok("find", text, *sizes, "--json"))
        self.assertEqual(found["wanted"], "product, gelu_tanh (bf16)")
        self.assertEqual(len(found["examples"]), 3)
        self.assertIn("gelu_tanh", found["examples"][0]["computes"])
        distances = [one["distance"] for one in found["examples"]]
        self.assertEqual(distances, sorted(distances))
        titles = [card["title"] for card in found["cards"]]
        self.assertTrue(any("ping-pong" in title for title in titles), titles)
        self.assertTrue(all(card["evidence"] for card in found["cards"]))
        long = json.loads(self.ok("find", text, "--set", "K=14336", "--json"))
        self.assertTrue(any("cooperative" in card["title"] for card in long["cards"]))
        self.assertIn(found["examples"][0]["name"], self.ok("find", text, *sizes, "-n", "1"))
        self.assertEqual(len(json.loads(self.ok("find", "-", "-n", "2", "--json", input=TEXT))["examples"]), 2)

    def test_the_nearest_to_a_pattern_of_a_run(self):
        source = self.write("model.py", model(TWO_LINEARS))
        self.assertEqual(self.fact("trace", source, "-o", "model.pt2").returncode, 0)
        self.assertEqual(self.fact("discover", "model.pt2", "-o", "run").returncode, 0)
        pattern = json.loads(self.fact("act", "run", "patterns").stdout)["patterns"][0]["id"]
        found = json.loads(self.ok("find", f"run:{pattern}", "--json"))
        self.assertIn("product", found["wanted"])
        by_action = json.loads(self.fact("act", "run", "examples", json.dumps({"pattern": pattern})).stdout)
        self.assertEqual([one["name"] for one in by_action["examples"]], [one["name"] for one in found["examples"]])

        nodes = [line.split()[0] for line in json.loads(self.fact("act", "run", "look").stdout)["lines"]]
        linear = next(name for name in nodes if name.startswith("linear"))
        proposal = json.loads(self.fact("act", "run", "propose", json.dumps({"nodes": [linear]})).stdout)["proposal"]
        request = json.dumps({"proposal": proposal, "count": 1})
        by_proposal = json.loads(self.fact("act", "run", "examples", request).stdout)
        self.assertEqual(len(by_proposal["examples"]), 1)
        self.assertEqual(by_proposal["wanted"], "product (f32)")
        self.assertIn("product", by_proposal["examples"][0]["computes"])

        for request, said in (
            ({}, "give one of"),
            ({"proposal": "a_0"}, "no proposal"),
            ({"pattern": "p99"}, "no pattern"),
            ({"text": "kernel"}, "does not compile"),
            ({"text": 7}, "has to be a string"),
            ({"text": TEXT, "pattern": pattern}, "only one"),
            ({"text": TEXT, "count": -1}, "has to be"),
        ):
            done = self.fact("act", "run", "examples", json.dumps(request))
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, json.loads(done.stdout)["error"])
        self.refuses("the run has no pattern", "find", "run:p99")
        self.refuses("run:PATTERN", "find", "run")
        self.refuses("--set is for texts", "find", f"run:{pattern}", "--set", "M=1")

    def test_what_is_wrong_has_a_cure(self):
        self.refuses("error[F0304]", "find", self.write("wrong.fact", TEXT.replace("w.T", "w")))
        self.refuses("the text has no kernel", "find", self.write("empty.fact", "# nothing\n"))
        self.refuses("is not a run folder", "find", "nowhere:p00")
        self.refuses("No such file", "find", "nothing.fact")
        self.refuses("is not of the form DIMENSION=EXTENT", "find", self.write("mlp.fact", TEXT), "--set", "M")
        self.refuses("is not a folder", "build", "-o", self.write("file", ""))

    def test_an_index_of_ones_own(self):
        self.environment["FACT_REGISTRY"] = str(ROOT / "registry")
        self.environment["FACT_INDEX"] = str(self.folder / "index")
        self.refuses("fact examples build", "list")
        shipped = {file.name: file.read_text() for file in (ROOT / "index" / "sm90a").glob("*.fact")}
        self.assertIn(f"{len(shipped)} added", self.ok("build"))
        made = {file.name: file.read_text() for file in (self.folder / "index" / "sm90a").glob("*.fact")}
        self.assertEqual(made, shipped)
        gone = self.folder / "index" / "sm90a" / "earlier.fact"
        gone.write_text(next(iter(shipped.values())))
        self.assertIn(f"0 added, 0 changed, 1 removed, {len(shipped)} unchanged", self.ok("build"))
        self.assertFalse(gone.exists())
        gone.write_text("torn")
        done = self.fact("examples", "list")
        self.assertEqual(done.returncode, 0)
        self.assertIn("earlier", done.stderr)

    def test_the_evidence_of_the_cards_is_what_the_records_say(self):
        done = subprocess.run([sys.executable, ROOT / "bench" / "cards.py", "--check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
