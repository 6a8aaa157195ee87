"""Actions over a run folder: what a driver beside the rules may ask for and do."""

import json
import subprocess
import unittest

import torch

from agents import MODEL, NODES, TEXT, Agents, fenced
from command_line import PROGRAM

GPU = torch.cuda.is_available()


class Actions(Agents):
    def act(self, name, **request):
        done = self.fact("act", "run", name, json.dumps(request))
        reply = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0 if reply["ok"] else 2)
        return reply

    def test_from_looking_to_a_package(self):
        self.assertEqual(self.fact("trace", self.source, "-o", "model.pt2").returncode, 0)
        self.assertEqual(self.fact("discover", "model.pt2", "-o", "run").returncode, 0)
        looked = self.act("look")
        self.assertEqual(looked["all"], 5)
        self.assertTrue(looked["lines"][0].startswith("tanh = tanh(y f32[4,32,128]) -> f32[4,32,128]  model.py:11"))
        around = self.act("source", node="tanh", around=1)
        self.assertEqual([line.split()[0] for line in around["lines"]], ["10", "11", "12"])
        left = {one["node"] for one in self.act("patterns")["left_alone"]}
        self.assertLessEqual(set(NODES), left)

        refused = self.act("propose", nodes=["tanh", "logaddexp"])
        self.assertFalse(refused["ok"])
        self.assertIn("hypot", refused["hint"])
        proposal = self.act("propose", nodes=NODES)
        self.assertEqual([one["name"] for one in proposal["parameters"]], ["y", "scale"])
        self.assertGreater(proposal["cost"]["unfused_us"], proposal["cost"]["bound_us"])
        name = proposal["proposal"]

        wrong = self.act("write", proposal=name, text=TEXT.replace("log(1.0", "log(1.1"))
        self.assertFalse(wrong["accepted"])
        self.assertIn(": logaddexp: largest error", wrong["why"])  # its name in the text
        self.assertTrue(all(one["why"].startswith("logaddexp: ") for one in wrong["text_checks"] if not one["passed"]))
        constant = TEXT.replace("max(t, y) + log(1.0 + exp(-abs(t - y)))", "0.0 * t")
        self.assertFalse(self.act("write", proposal=name, text=constant)["accepted"])
        mistaken = self.act("write", proposal=name, text="def f(y): return y")
        self.assertEqual(mistaken["diagnostics"][0]["severity"], "error")
        for _ in range(2):  # the second is answered from what is known
            self.assertTrue(self.act("write", proposal=name, text=TEXT)["accepted"])
        self.assertFalse(set(NODES) & {one["node"] for one in self.act("patterns")["left_alone"]})
        self.assertEqual(self.fact("realize", "run").returncode, 0)
        composed = self.fact("compose", "run")
        self.assertIn(f"{name}: fused", composed.stdout)

    def test_patterns_of_the_rules_and_sets_of_them(self):
        """Another text for what rules found, other schedules, sets composed; what is left."""
        self.assertEqual(self.fact("optimize", self.source, "--run-dir", "run", "--no-bench").returncode, 0)
        found = self.act("patterns")["patterns"]
        rules = found[0]["id"]
        self.assertGreater(len(self.act("schedules", pattern=rules)["schedules"]), 4)
        self.assertFalse(self.act("schedules", pattern="p99")["ok"])
        self.assertIn("'most' is 0", self.act("schedules", pattern=rules, most=0)["error"])
        for more in ({}, {"schedule": "tile 128x64x32"}):
            unknown = self.act("schedules", pattern=rules, product="nothing", **more)
            self.assertIn("no product 'nothing'", unknown["error"])
            self.assertIn("its products: acc", unknown["hint"])
        self.assertEqual({one["product"] for one in self.act("schedules", pattern=rules, product="acc")["schedules"]}, {"acc"})
        schedule = "tile 128x64x32  cluster 1x1  mainloop cooperative"
        tried = self.act("schedules", pattern=rules, schedule=schedule)
        self.assertTrue(tried["accepted"], tried)
        self.assertIn("tile 128x64x32", tried["candidates"][0]["schedule"])
        self.assertEqual(tried["stages"][0]["limited_by"], "launch")
        illegal = self.act("schedules", pattern=rules, schedule="tile 7x7x7")
        self.assertFalse(illegal["accepted"])
        self.assertIn("7x7x7", json.dumps(illegal))
        # The accepted text stays what the run goes on with.
        call = self.folder / "run" / "calls" / (tried["proposal"] + ".json")
        before = call.read_text()
        wrong = self.act("write", pattern=rules, text=found[0]["text"].replace("acc + bias", "acc - bias"))
        self.assertFalse(wrong["accepted"])
        self.assertEqual(call.read_text(), before)

        self.assertIn("both", self.act("compose", patterns=[rules, tried["proposal"]])["error"])
        self.assertEqual(self.act("compose", patterns=[tried["proposal"]])["fused"], [tried["proposal"]])
        self.assertFalse(self.act("compose", patterns=["p99"])["ok"])
        self.assertEqual(self.fact("compose", "run", "--patterns", rules).returncode, 0)
        self.assertEqual(self.fact("compose", "run", "--patterns", "p99").returncode, 2)
        measured = self.act("measure")
        self.assertEqual(measured["ok"], GPU)
        left = self.act("budget")
        self.assertLess(left["least_us"], left["now_us"])
        self.assertLess(left["now_us"], left["unfused_us"])
        self.assertEqual(self.act("stop", why="near its bound")["accepted"], [tried["proposal"]])

        # A package with a kernel that is withdrawn goes; one without it stays.
        package = self.folder / "run" / "package"
        self.assertEqual(self.act("compose", patterns=[tried["proposal"]])["fused"], [tried["proposal"]])
        gone = self.act("withdraw", proposal=tried["proposal"])
        self.assertEqual((gone["removed_packages"], package.exists()), (["run/package"], False))
        self.assertTrue(self.act("schedules", pattern=rules, schedule=schedule)["accepted"])
        self.assertEqual(self.act("compose", patterns=[rules])["fused"], [rules])
        self.assertEqual(self.act("withdraw", proposal=tried["proposal"])["removed_packages"], [])
        self.assertTrue((package / "manifest.json").exists())

    def test_one_at_work_sees_what_another_wrote(self):
        self.assertEqual(self.fact("trace", self.source, "-o", "model.pt2").returncode, 0)
        self.assertEqual(self.fact("discover", "model.pt2", "-o", "run").returncode, 0)
        with subprocess.Popen([PROGRAM, "act", "run", "--serve"], cwd=self.folder, env=self.environment, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            def ask(action, **request):
                server.stdin.write(json.dumps({"action": action, "request": request}) + "\n")
                server.stdin.flush()
                return json.loads(server.stdout.readline())

            before = len(ask("patterns")["patterns"])
            name = self.act("propose", nodes=NODES)["proposal"]
            self.assertTrue(self.act("write", proposal=name, text=TEXT)["accepted"])
            after = [one["id"] for one in ask("patterns")["patterns"]]
            self.assertEqual((len(after), name in after), (before + 1, True))
            server.stdin.close()

    def test_what_computes_nothing_is_an_attempt_to_game(self):
        self.assertEqual(self.fact("trace", self.source, "-o", "model.pt2").returncode, 0)
        self.assertEqual(self.fact("discover", "model.pt2", "-o", "run").returncode, 0)
        name = self.act("propose", nodes=NODES)["proposal"]
        constant = "kernel f(y: f32[R, K], scale: f32[K]) -> (logaddexp: f32[R, K]) {\n" \
                   "  logaddexp = (1.0 / extent(K)).expand(R, K)\n}\n"
        self.assertIn("attempt to game", self.act("write", proposal=name, text=constant)["why"])

    def test_what_was_learned_is_found_in_other_modules(self):
        self.environment["FACT_REGISTRY"] = str(self.folder / "registry")
        self.optimize(self.answers(fenced(TEXT)), "--no-bench")
        proposal = json.loads((self.folder / "run" / "report.json").read_text())["agent"]["proposals"][0]["id"]
        self.assertFalse(self.act("learn", proposal="a_0")["ok"])
        rule = self.act("learn", proposal=proposal)["rule"]

        listed = self.fact("registry", "rules", "list").stdout
        self.assertIn(f"{rule}  3 operators  model.py", listed)
        self.assertIn("max(t, y)", self.fact("registry", "rules", "show", rule).stdout)
        other = MODEL.replace("128", "96").replace("4, 32", "2, 24")
        self.source = self.write("other.py", other)
        self.assertEqual(self.fact("trace", self.source, "-o", "other.pt2").returncode, 0)
        self.assertIn(f"k_{rule}_0", self.fact("discover", "other.pt2").stdout)
        report = json.loads(self.fact("optimize", self.source, "--run-dir", "second", "--json").stdout)
        fused = [one["id"] for one in report["patterns"] if one["fused"]]
        self.assertIn(f"k_{rule}_0", fused)
        self.assertIsNone(report["agent"])
        self.assertTrue(report["agrees"])

        self.assertEqual(self.fact("registry", "rules", "export", rule, "kept.rule").returncode, 0)
        self.assertEqual(self.fact("registry", "rules", "forget", rule).returncode, 0)
        self.assertEqual(self.fact("registry", "rules", "forget", rule).returncode, 2)
        self.assertEqual(self.fact("registry", "rules", "import", "kept.rule").stdout.strip(), rule)
        self.assertEqual(self.fact("registry", "rules", "import", self.source).returncode, 2)

    def test_a_shipped_rule_is_exported_and_imported(self):
        self.environment["FACT_REGISTRY"] = str(self.folder / "registry")
        rule = self.fact("registry", "rules", "list").stdout.split()[0]
        refused = self.fact("registry", "rules", "export", rule, "no/such/folder/kept.rule")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("there is no folder", refused.stderr)
        self.assertFalse((self.folder / "no").exists())
        self.assertEqual(self.fact("registry", "rules", "export", rule, "kept.rule").returncode, 0)
        told = self.fact("registry", "rules", "import", "kept.rule")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("comes with FACT already, so it was not copied", told.stdout)
        self.assertFalse((self.folder / "registry" / "rules").exists())
        other = json.loads((self.folder / "kept.rule").read_text()) | {"evidence": "mine"}
        self.write("other.rule", json.dumps(other))
        self.assertIn("comes with FACT already; yours", self.fact("registry", "rules", "import", "other.rule").stdout)
        self.assertIn(f"{rule}  ", self.fact("registry", "rules", "list").stdout)

    def test_what_is_wrong_is_a_reply(self):
        self.assertEqual(self.fact("trace", self.source, "-o", "model.pt2").returncode, 0)
        self.assertEqual(self.fact("discover", "model.pt2", "-o", "run").returncode, 0)
        lines = [
            "nonsense",
            "[1]",
            json.dumps({"action": "dance"}),
            json.dumps({"action": "look", "request": {"first": -1}}),
            json.dumps({"action": "propose", "request": {"nodes": "tanh"}}),
            json.dumps({"action": "propose", "request": {"nodes": []}}),
            json.dumps({"action": "write", "request": {"proposal": "../../x", "text": ""}}),
            json.dumps({"action": "write", "request": {"proposal": "a", "text": "x" * 1_000_000}}),
            json.dumps({"action": "look", "request": {"count": 1}, "id": 7}),
        ]
        done = subprocess.run(
            [PROGRAM, "act", "run", "--serve"], cwd=self.folder, env=self.environment, text=True,
            input="\n".join(lines) + "\n", capture_output=True, timeout=120,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        replies = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([reply["ok"] for reply in replies], [False] * 8 + [True])
        self.assertEqual(replies[-1]["id"], 7)
        self.assertTrue(all(reply["error"] for reply in replies[:-1]))
        self.assertTrue(all(reply.get("hint", "x") for reply in replies))  # none rather than an empty one

    def test_the_command_line_itself(self):
        for arguments, said in ((["act"], "no run folder"), (["act", "nowhere", "look"], "not a run folder"),
                                (["act", "nowhere"], "give one action")):
            done = self.fact(*arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)
        listed = json.loads(self.fact("act", "--list").stdout)
        self.assertEqual([one["name"] for one in listed], [
            "look", "patterns", "source", "propose", "write", "schedules", "withdraw", "learn", "examples", "measure",
            "compose", "budget", "stop"])


if __name__ == "__main__":
    unittest.main()
