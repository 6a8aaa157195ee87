"""The loop that asks a program: sets of operators, texts for them, revisions."""

import json
import signal
import subprocess
import time
import unittest

from agents import NODES, TEXT, Agents, fenced
from command_line import PROGRAM, ROOT


class Loop(Agents):
    def test_a_text_is_revised_and_composed_and_replayed(self):
        report = self.optimize(self.answers("It depends.", fenced(TEXT)), "--agent-price", "2,10")
        agent = report["agent"]
        self.assertEqual((agent["calls"], agent["named"], agent["accepted"]), (3, 1, 1))
        row = agent["proposals"][0]
        self.assertEqual((row["outcome"], len(row["texts"])), ("accepted", 2))
        self.assertEqual((row["first_compiled"], row["composed"], row["verified"]), (False, True, False))
        stages = {one["stage"]: one for one in agent["stages"]}
        self.assertEqual({name: one["calls"] for name, one in stages.items()}, {"find": 1, "write": 1, "revise": 1})
        for count in ("tokens_in", "tokens_out", "dollars"):
            self.assertAlmostEqual(sum(one[count] for one in stages.values()), agent[count])
        self.assertEqual(row["tokens_in"], stages["write"]["tokens_in"] + stages["revise"]["tokens_in"])
        self.assertAlmostEqual(agent["dollars"], 2e-6 * agent["tokens_in"] + 10e-6 * agent["tokens_out"])
        self.assertEqual((agent["retries"], agent["first_compiled"], agent["brought"]), (1, 0, None))
        fused = {one["id"] for one in report["patterns"] if one["fused"]}
        self.assertIn(row["id"], fused)
        operators = report["operators"]
        self.assertEqual(sum(operators.values()), 2 * operators["all"])
        self.assertTrue(report["agrees"])

        transcript = self.folder / "run" / "agent" / "transcript.jsonl"
        asked = [json.loads(line) for line in transcript.read_text().splitlines()]
        asked = next(one["prompt"] for one in asked if one["stage"] == "write")
        examples = asked.split("# Kernels that were proved")[1].split("# The operators")[0]
        self.assertIn("kernel ", examples)
        self.assertIn(", bound ", examples)
        self.assertLess(len(examples), 3_300)
        kept = self.write("kept.jsonl", transcript.read_text())
        (self.folder / "run").rename(self.folder / "first")
        again = self.optimize(f"replay:{kept}")
        self.assertEqual(again["agent"]["accepted"], 1)

        compared = self.fact("runs", "compare", "first", "run")
        self.assertEqual(compared.returncode, 0, compared.stderr)
        self.assertIn("the whole module was timed in neither run", compared.stdout)
        compared = json.loads(self.fact("runs", "compare", "first", "run", "--json").stdout)
        self.assertEqual([one["name"] for one in compared["settings"]], ["--agent"])
        self.assertTrue(all(one["a_fused"] and one["b_fused"] for one in compared["patterns"]))
        self.assertEqual(compared["agent"][0], {"name": "calls", "a": 3, "b": 3})
        self.assertEqual(self.fact("runs", "compare", "first", "nowhere").returncode, 2)

    def test_answers_of_a_model_are_replayed(self):
        """Those that a language model gave to these questions, when rules left the module alone."""
        kept = ROOT / "tests" / "python" / "transcripts" / "softcap_loss.jsonl"
        self.source = str(ROOT / "examples" / "softcap_loss.py")
        report = self.optimize(f"replay:{kept}", "--agent-alone")
        agent = report["agent"]
        self.assertEqual((agent["named"], agent["refused"], agent["accepted"]), (3, 2, 1))
        self.assertTrue(agent["proposals"][0]["first_compiled"])
        self.assertEqual(report["operators"]["fused"], 8)
        self.assertTrue(report["agrees"])

        # As recorded with a torch that names operators otherwise: no id and no prompt is the same.
        altered = kept.read_text().replace("a_aa636aaa5d", "a_0123456789").replace("You ", "Do ")
        self.assertNotEqual(altered, kept.read_text())
        subprocess.run(["rm", "-r", self.folder / "run"], check=True)
        agent = self.optimize(f"replay:{self.write('altered.jsonl', altered)}", "--no-bench", "--agent-alone")["agent"]
        self.assertEqual((agent["named"], agent["refused"], agent["accepted"]), (3, 2, 1))
        self.assertEqual(agent["other_prompts"], 2)
        said = (self.folder / "run" / "report.txt").read_text()
        self.assertIn("2 answers replayed to other prompts", said)

    def test_what_a_model_wrote_for_one_module_is_found_in_another(self):
        """Recorded at full size (bench/agent), replayed at a small one; the rule then needs no model."""
        self.environment.update(BEYOND_SMALL="1", FACT_REGISTRY=str(self.folder / "registry"))
        beyond = ROOT / "examples" / "beyond"
        self.source = str(beyond / "edm_loss.py")
        report = self.optimize(f"replay:{ROOT / 'bench' / 'agent' / 'edm_loss.jsonl'}", "--dtype", "bf16", "--agent-alone")
        self.assertEqual(report["operators"]["fused"], report["operators"]["all"])
        self.assertTrue(report["agrees"])
        proposal = next(one["id"] for one in report["agent"]["proposals"] if one["accepted"])
        self.assertEqual(self.fact("act", "run", "learn", json.dumps({"proposal": proposal})).returncode, 0)
        again = self.fact("optimize", beyond / "edm_loss_again.py", "--dtype", "bf16", "--no-shipped-rules", "--run-dir", "again", "--json")
        again = json.loads(again.stdout)
        self.assertTrue([one["id"] for one in again["patterns"] if one["id"].startswith("k_")])
        self.assertIsNone(again["agent"])
        self.assertTrue(again["agrees"])

    def test_nothing_that_is_answered_does_harm(self):
        for find, first in (
            ("no idea", ""),
            (json.dumps({"proposals": [{"nodes": ["nope"]}, {"nodes": 3}, 7]}), ""),
            ("{" * 100_000, ""),
            ("x" * 2_000_000, ""),
            (None, "kernel f(y: f32[R, K], scale: f32[K]) -> (logaddexp: f32[R, K]) { logaddexp = 0.0 * y }"),
            (None, fenced("y = 1\n") * 50_000),
        ):
            subprocess.run(["rm", "-rf", self.folder / "run"], check=True)
            report = self.optimize(self.answers(first, first, find), "--agent-calls", "3", "--no-bench")
            self.assertEqual(report["agent"]["accepted"], 0)
            self.assertTrue(report["package"])

    def test_sets_that_cannot_be_read_are_reported(self):
        """One beside others; and none that can be read: the question is asked again, with the reason."""
        sets = [{"nodes": [1, "tanh"]}, 7, {"nodes": NODES}]
        answers = self.answers(fenced(TEXT), find=json.dumps({"proposals": sets}))
        agent = self.optimize(answers, "--no-bench", "--agent-alone")["agent"]
        self.assertEqual((agent["named"], agent["refused"], agent["accepted"]), (3, 2, 1))
        outcomes = [one["outcome"] for one in agent["proposals"]]
        self.assertIn("it cannot be read: 1 is not a name", outcomes)
        self.assertIn('it cannot be read: 7 is not an object with "nodes"', outcomes)
        subprocess.run(["rm", "-r", self.folder / "run"], check=True)
        agent = self.optimize(self.answers("", find='{"proposals": [7]}'), "--no-bench")["agent"]
        self.assertEqual((agent["calls"], agent["refused"]), (2, 1))
        self.assertEqual(agent["stopped"], '7 is not an object with "nodes"')
        asked = (self.folder / "run" / "agent" / "transcript.jsonl").read_text().splitlines()
        self.assertIn('It cannot be used: 7 is not an object', json.loads(asked[1])["prompt"])

    def test_rules_are_left_out_for_comparison(self):
        report = self.optimize(self.answers(fenced(TEXT)), "--agent-alone", "--no-bench")
        self.assertEqual([one["id"] for one in report["patterns"]], [report["agent"]["proposals"][0]["id"]])
        self.assertEqual(report["operators"]["left_alone"], report["operators"]["all"] - len(NODES))

    def test_who_answers_may_fail(self):
        report = self.optimize("command:exit 3", "--no-bench")
        self.assertEqual(report["agent"]["failed_calls"], 2)
        self.assertIn("exit code 3", report["agent"]["stopped"])

    def test_a_question_is_interrupted(self):
        with subprocess.Popen([PROGRAM, "optimize", self.source, "--run-dir", "run", "--no-bench", "--agent",
                               "command:echo > asked; sleep 100"], cwd=self.folder, env=self.environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            while not (self.folder / "asked").exists() and running.poll() is None:
                time.sleep(0.1)
            began = time.monotonic()
            running.send_signal(signal.SIGINT)
            self.assertEqual(running.wait(60), 130)
        self.assertLess(time.monotonic() - began, 30)

    def test_keys_are_not_kept(self):
        self.environment["MY_API_KEY"] = "sk-0123456789"
        self.optimize("command:echo $MY_API_KEY; echo $MY_API_KEY >&2; exit 1", "--no-bench")
        kept = (self.folder / "run" / "agent" / "transcript.jsonl").read_text()
        self.assertNotIn("sk-0123456789", kept)
        self.assertIn("[redacted]", kept)

    def test_what_is_no_price(self):
        for price in ("2", "2,", "a,b", "-1,2", "1,nan", "1,2,3", "1;2"):
            done = self.fact("optimize", self.source, "--agent-price=" + price, "--run-dir", "run")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("dollars per million tokens", done.stderr)
            self.assertFalse((self.folder / "run").exists())

    def test_who_is_no_agent(self):
        for agent, said in (("gpt", "names no agent"), ("command:", "names no agent"),
                            ("command:no-such-program x", "the program no-such-program of --agent was not found"),
                            ("replay:missing.jsonl", "missing.jsonl"), (f"replay:{self.source}", "not a line")):
            done = self.fact("optimize", self.source, "--agent", agent, "--run-dir", "run")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertFalse((self.folder / "run").exists())


if __name__ == "__main__":
    unittest.main()
