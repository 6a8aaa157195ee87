"""A driver beside the rules: actions over a run folder, and the loop that asks a program."""

import json
import os
import signal
import subprocess
import time
import unittest

import torch

from command_line import PROGRAM, ROOT, CommandLine

GPU = torch.cuda.is_available()

MODEL = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(64, 128)
        self.scale = torch.nn.Parameter(torch.ones(128))

    def forward(self, x, y):
        t = torch.tanh(y) * torch.sigmoid(y) * self.scale
        return self.up(x) + torch.softmax(t, dim=-1).sum(dim=1, keepdim=True)

def get_inputs():
    return [torch.randn(4, 32, 64), torch.randn(4, 32, 128)]

def get_init_inputs():
    return []
"""

NODES = ["tanh", "sigmoid", "mul", "mul_1", "softmax"]

TEXT = """kernel gated(y: f32[R, K], scale: f32[K]) -> (t_softmax: f32[R, K]) {
  t_softmax = softmax(tanh(y) * sigmoid(y) * scale, over: K)
}
"""

# Answers by what is asked: a list of sets, then one kernel text after the other.
ANSWERS = """
import sys
prompt = sys.stdin.read()
if prompt.startswith("You choose"):
    print({find!r})
elif "Your kernel was not accepted" in prompt:
    print({second!r})
else:
    print({first!r})
"""


def fenced(text):
    return f"```fact\n{text}```\n"


class Agents(CommandLine):
    def setUp(self):
        super().setUp()
        self.source = self.write("model.py", MODEL)

    def answers(self, first, second="", find=None):
        find = find if find is not None else json.dumps({"proposals": [{"nodes": NODES, "why": "one pass"}]})
        script = self.write("answers.py", ANSWERS.format(find=find, first=first, second=second))
        return f"command:{os.environ.get('FACT_PYTHON', 'python3')} {script}"

    def optimize(self, agent, *more):
        done = self.fact("optimize", self.source, "--run-dir", "run", "--json", "--agent", agent, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)


# The same in CUDA: a block a row.
CUDA = """// fact-per-block: 128
#include "common/plain.cuh"

using namespace fact;

__device__ float over_row(float value, bool largest) {
    __shared__ float all[256];
    __syncthreads();
    all[threadIdx.x] = value;
    __syncthreads();
    float result = all[0];
    for (int i = 1; i < 256; ++i) result = largest ? fmaxf(result, all[i]) : result + all[i];
    return result;
}

extern "C" __global__ void __launch_bounds__(256)
FACT_ENTRY(__grid_constant__ PlainArguments<FACT_TENSORS> const arguments) {
    PlainTensor const &y = arguments.tensors[0], &scale = arguments.tensors[1], &out = arguments.tensors[2];
    int const rows = out.sizes[0] * out.sizes[1], columns = out.sizes[2];
    auto const value = [&](int row, int column) {
        float const x = static_cast<float const*>(y.data)[row / y.sizes[1] * y.strides[0] + row % y.sizes[1] *
                                                          y.strides[1] + column * y.strides[2]];
        return tanhf(x) / (1.f + expf(-x)) * static_cast<float const*>(scale.data)[column * scale.strides[0]];
    };
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        float top = -INFINITY, sum = 0.f;
        for (int i = threadIdx.x; i < columns; i += 256) top = fmaxf(top, value(row, i));
        top = over_row(top, true);
        for (int i = threadIdx.x; i < columns; i += 256) sum += expf(value(row, i) - top);
        sum = over_row(sum, false);
        for (int i = threadIdx.x; i < columns; i += 256)
            static_cast<float*>(out.data)[row / out.sizes[1] * out.strides[0] + row % out.sizes[1] * out.strides[1] +
                                          i * out.strides[2]] = expf(value(row, i) - top) / sum;
    }
}
"""


class Cuda(Agents):
    """Kernels that are not written in the kernel language: asked for only, and never taken unproved."""

    def prompts(self):
        lines = (self.folder / "run" / "agent" / "transcript.jsonl").read_text().splitlines()
        return [json.loads(line)["prompt"] for line in lines]

    def test_what_does_not_compile_is_revised(self):
        broken = CUDA.replace("float top = -INFINITY", "flaot top = -INFINITY")
        agent = self.answers(f"```cuda\n{broken}```", f"```cuda\n{CUDA}```")
        done = self.fact("optimize", self.source, "--run-dir", "run", "--json", "--agent", agent,
                         "--agent-writes", "cuda", "--agent-bounds", "off")  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("agent: unsafe: the model writes CUDA", done.stderr)
        report = json.loads(done.stdout)
        row = report["agent"]["proposals"][0]
        self.assertEqual((len(row["texts"]), row["first_compiled"]), (2, False))
        find, first, revise = self.prompts()
        self.assertIn("tensors[1]: scale, FACT_TYPE_1 is float (f32), sizes [128], strides [1], read", first)
        self.assertIn('identifier "flaot" is undefined', revise)
        for prompt in (find, first, revise):
            self.assertNotRegex(prompt, r"at best it takes|\(bound|the bound is|[0-9]%")
        self.assertTrue(report["agrees"])
        fused = {one["id"] for one in report["patterns"] if one["fused"]}
        if report["device"]:
            self.assertTrue(row["verified"])
            return
        self.assertIn("it compiles, and is not verified: there is no GPU", row["outcome"])
        self.assertFalse(row["accepted"] or row["verified"] or row["composed"])
        self.assertNotIn(row["id"], fused)
        self.assertEqual(list((self.folder / "run" / "package").glob(f"**/{row['id']}*")), [])

    def test_what_is_no_kernel_is_told(self):
        for answer, said in (
            ("It depends.", "no code block"),
            ("```\n__global__ void f() {}\n```", "no entry point"),
            ("```\nextern \"C\" __global__ void f() {} // FACT_ENTRY\n```", "no entry point"),
            ("```\n#include \"/etc/hostname\"\nvoid FACT_ENTRY();\n```", "it may not have #include"),
            ("```\n#include <../../etc/hostname>\nvoid FACT_ENTRY();\n```", "it may not have #include"),
            ("```\n// fact-fault: none\nvoid FACT_ENTRY();\n```", "no entry point"),
        ):
            subprocess.run(["rm", "-rf", self.folder / "run"], check=True)
            report = self.optimize(self.answers(answer, answer), "--agent-writes", "cuda", "--no-bench",
                                   "--agent-calls", "3")  # fmt: skip
            row = report["agent"]["proposals"][0]
            self.assertEqual((report["agent"]["accepted"], row["first_compiled"]), (0, False))
            self.assertIn(said, row["outcome"])
            self.assertIn(said, self.prompts()[2])

    def test_nobody_is_given_cuda_who_did_not_ask_for_it(self):
        text = "# written in CUDA; what the kernel below computes is void\n#|" + CUDA.replace("\n", "\n#|")
        text += "\n" + TEXT
        report = self.optimize(self.answers(fenced(text), fenced(text)), "--no-bench")
        self.assertEqual(report["agent"]["accepted"], 0)
        self.assertIn("texts are in the kernel language", report["agent"]["proposals"][0]["outcome"])
        done = self.fact("optimize", self.source, "--agent-writes", "python")
        self.assertEqual(done.returncode, 2)


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
        self.assertEqual(looked["all"], 8)
        self.assertTrue(looked["lines"][0].startswith("tanh = tanh(y f32[4,32,128]) -> f32[4,32,128]  model.py:11"))
        around = self.act("source", node="tanh", around=1)
        self.assertEqual([line.split()[0] for line in around["lines"]], ["10", "11", "12"])
        left = {one["node"] for one in self.act("patterns")["left_alone"]}
        self.assertLessEqual(set(NODES), left)

        refused = self.act("propose", nodes=["tanh", "softmax"])
        self.assertFalse(refused["ok"])
        self.assertIn("mul", refused["hint"])
        proposal = self.act("propose", nodes=NODES)
        self.assertEqual([one["name"] for one in proposal["parameters"]], ["y", "scale"])
        self.assertGreater(proposal["cost"]["unfused_us"], proposal["cost"]["bound_us"])
        name = proposal["proposal"]

        wrong = self.act("write", proposal=name, text=TEXT.replace("sigmoid(y)", "sigmoid(y + 0.01)"))
        self.assertFalse(wrong["accepted"])
        self.assertIn("softmax: largest error", wrong["why"])
        constant = TEXT.replace("softmax(tanh(y) * sigmoid(y) * scale, over: K)", "0.0 * y * scale")
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
        constant = "kernel f(y: f32[R, K], scale: f32[K]) -> (t_softmax: f32[R, K]) {\n" \
                   "  t_softmax = (1.0 / extent(K)).expand(R, K)\n}\n"
        self.assertIn("attempt to game", self.act("write", proposal=name, text=constant)["why"])

    def test_what_was_learned_is_found_in_other_modules(self):
        self.environment["FACT_REGISTRY"] = str(self.folder / "registry")
        self.optimize(self.answers(fenced(TEXT)), "--no-bench")
        proposal = json.loads((self.folder / "run" / "report.json").read_text())["agent"]["proposals"][0]["id"]
        self.assertFalse(self.act("learn", proposal="a_0")["ok"])
        rule = self.act("learn", proposal=proposal)["rule"]

        listed = self.fact("registry", "rules", "list").stdout
        self.assertIn(f"{rule}  5 operators  model.py", listed)
        self.assertIn("softmax(tanh(y)", self.fact("registry", "rules", "show", rule).stdout)
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

    def test_the_command_line_itself(self):
        for arguments, said in ((["act"], "no run folder"), (["act", "nowhere", "look"], "not a run folder"),
                                (["act", "nowhere"], "give one action")):
            done = self.fact(*arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)
        listed = json.loads(self.fact("act", "--list").stdout)
        self.assertEqual([one["name"] for one in listed], [
            "look", "patterns", "source", "propose", "write", "schedules", "learn", "examples", "measure", "compose",
            "budget", "stop"])


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
        """Those that a language model gave to these questions, on a module that rules leave alone."""
        kept = ROOT / "tests" / "python" / "transcripts" / "softcap_loss.jsonl"
        self.source = str(ROOT / "examples" / "softcap_loss.py")
        report = self.optimize(f"replay:{kept}")
        agent = report["agent"]
        self.assertEqual((agent["named"], agent["refused"], agent["accepted"]), (3, 2, 1))
        self.assertTrue(agent["proposals"][0]["first_compiled"])
        self.assertEqual(report["operators"]["fused"], 8)
        self.assertTrue(report["agrees"])

        # As recorded with a torch that names operators otherwise: no id and no prompt is the same.
        altered = kept.read_text().replace("a_aa636aaa5d", "a_0123456789").replace("You ", "Do ")
        self.assertNotEqual(altered, kept.read_text())
        subprocess.run(["rm", "-r", self.folder / "run"], check=True)
        agent = self.optimize(f"replay:{self.write('altered.jsonl', altered)}", "--no-bench")["agent"]
        self.assertEqual((agent["named"], agent["refused"], agent["accepted"]), (3, 2, 1))
        self.assertEqual(agent["other_prompts"], 2)
        said = (self.folder / "run" / "report.txt").read_text()
        self.assertIn("2 answers replayed to other prompts", said)

    def test_what_a_model_wrote_for_one_module_is_found_in_another(self):
        """Recorded at full size (bench/agent), replayed at a small one; the rule then needs no model."""
        self.environment.update(BEYOND_SMALL="1", FACT_REGISTRY=str(self.folder / "registry"))
        beyond = ROOT / "examples" / "beyond"
        self.source = str(beyond / "edm_loss.py")
        report = self.optimize(f"replay:{ROOT / 'bench' / 'agent' / 'edm_loss.jsonl'}", "--dtype", "bf16")
        self.assertEqual(report["operators"]["fused"], report["operators"]["all"])
        self.assertTrue(report["agrees"])
        proposal = next(one["id"] for one in report["agent"]["proposals"] if one["accepted"])
        self.assertEqual(self.fact("act", "run", "learn", json.dumps({"proposal": proposal})).returncode, 0)
        again = self.fact("optimize", beyond / "edm_loss_again.py", "--dtype", "bf16", "--run-dir", "again", "--json")
        again = json.loads(again.stdout)
        self.assertTrue([one["id"] for one in again["patterns"] if one["fused"] and one["id"].startswith("k_")])
        self.assertIsNone(again["agent"])
        self.assertTrue(again["agrees"])

    def test_nothing_that_is_answered_does_harm(self):
        for find, first in (
            ("no idea", ""),
            (json.dumps({"proposals": [{"nodes": ["nope"]}, {"nodes": 3}, 7]}), ""),
            ("{" * 100_000, ""),
            ("x" * 2_000_000, ""),
            (None, "kernel f(y: f32[R, K], scale: f32[K]) -> (t_softmax: f32[R, K]) { t_softmax = 0.0 * y }"),
            (None, fenced("y = 1\n") * 50_000),
        ):
            subprocess.run(["rm", "-rf", self.folder / "run"], check=True)
            report = self.optimize(self.answers(first, first, find), "--agent-calls", "3", "--no-bench")
            self.assertEqual(report["agent"]["accepted"], 0)
            self.assertTrue(report["package"])

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
            self.assertIn("dollars for a million tokens", done.stderr)
            self.assertFalse((self.folder / "run").exists())

    def test_who_is_no_agent(self):
        for agent, said in (("gpt", "names no agent"), ("command:", "names no agent"),
                            ("replay:missing.jsonl", "missing.jsonl"), (f"replay:{self.source}", "not a line")):
            done = self.fact("optimize", self.source, "--agent", agent, "--run-dir", "run")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertFalse((self.folder / "run").exists())


if __name__ == "__main__":
    unittest.main()
