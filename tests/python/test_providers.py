"""Models behind an API: the official SDKs against a local server of each API's shape."""

import importlib.util
import json
import os
import subprocess
import sys
import unittest

SDK = os.environ.get("FACT_TEST_SDK", "")
if SDK:
    sys.path.append(SDK)

from agents import NODES, TEXT, Agents, fenced
from model_server import STREAMS, ModelServer

THERE = all(importlib.util.find_spec(name) for name in ("openai", "anthropic"))
PYTHON = os.environ.get("FACT_PYTHON", sys.executable)
PROVIDERS = ("openai", "anthropic")


@unittest.skipUnless(THERE, "the packages openai and anthropic are not installed")
class Client(unittest.TestCase):
    def ask(self, provider, script, prompt="what is it?"):
        with ModelServer(provider, script) as server:
            done = subprocess.run(
                [PYTHON, "-m", "fact.agent_client", provider, "some-model"],
                input=prompt, text=True, capture_output=True, timeout=120,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), SDK]),
                     **server.environment()},
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout), server.requests

    def test_an_answer_comes_in_pieces(self):
        for provider in PROVIDERS:
            reply, requests = self.ask(provider, ["forty two"])
            self.assertEqual(reply, {"text": "forty two", "tokens_in": 11, "tokens_out": 7})
            self.assertEqual(requests[0]["body"]["model"], "some-model")
            self.assertEqual(requests[0]["body"]["messages"], [{"role": "user", "content": "what is it?"}])
            self.assertTrue(requests[0]["body"]["stream"])

    def test_rate_limits_and_failing_servers_are_tried_again(self):
        for provider in PROVIDERS:
            busy = (429, json.dumps({"error": {"message": "slow down", "type": "rate_limit_error"}}))
            reply, requests = self.ask(provider, [busy, (500, "{}"), "at last"])
            self.assertEqual(reply["text"], "at last")
            self.assertEqual(len(requests), 3)

    def test_what_does_not_help_is_an_error(self):
        for provider in PROVIDERS:
            wrong = (401, json.dumps({"error": {"message": "no such key", "type": "authentication_error"}}))
            reply, requests = self.ask(provider, [wrong])
            self.assertIn("no such key", reply["error"])
            self.assertEqual(len(requests), 1)
            reply, _ = self.ask(provider, [(200, 'data: {"broken": \n\n')])
            self.assertTrue(reply["error"])
            reply, _ = self.ask(provider, [(200, STREAMS[provider]("", "I will not do that"))])
            self.assertIn("refused", reply["error"])

    def test_another_provider_is_not_known(self):
        done = subprocess.run([PYTHON, "-m", "fact.agent_client", "nobody", "m"], input="", text=True, capture_output=True)
        self.assertEqual(done.returncode, 2)


class WithoutTheSdk(unittest.TestCase):
    def test_it_says_what_to_install(self):
        blocked = "import sys; sys.modules['openai'] = None\nfrom fact import agent_client\n"
        script = blocked + "print(agent_client.ask('openai', 'm', 'p')['error'])"
        done = subprocess.run([PYTHON, "-c", script], text=True, capture_output=True)
        self.assertIn("the package openai is not installed: pip install openai (into ", done.stdout)


def without_keys(environment):
    """The environment with neither a key nor a place where the SDKs look for one."""
    kept = {name: value for name, value in environment.items() if not name.startswith(("OPENAI_", "ANTHROPIC_"))}
    return {**kept, "ANTHROPIC_CONFIG_DIR": "/nonexistent"}


class NotSetUp(Agents):
    def refused(self, provider):
        done = self.fact("optimize", self.source, "--agent", f"{provider}:some-model", "--run-dir", "run")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertNotIn("trace", done.stderr)
        self.assertFalse((self.folder / "run").exists())
        return done.stderr

    def test_without_the_package(self):
        for provider in PROVIDERS:
            self.environment = without_keys(self.environment)
            # -S: no packages are found.
            self.environment["FACT_PYTHON"] = self.write("python", f'#!/bin/sh\nexec {PYTHON} -S "$@"\n')
            os.chmod(self.environment["FACT_PYTHON"], 0o755)
            self.environment.pop("PYTHONPATH", None)
            self.assertIn(f"error: the package {provider} is not installed: pip install {provider}", self.refused(provider))

    @unittest.skipUnless(THERE, "the packages openai and anthropic are not installed")
    def test_without_a_key(self):
        self.environment = without_keys(self.environment)
        self.environment["PYTHONPATH"] = os.pathsep.join([os.environ.get("PYTHONPATH", ""), SDK])
        for provider in PROVIDERS:
            key = f"{provider.upper()}_API_KEY"
            self.assertIn(f"error: there is no key for {provider}: set {key} to yours", self.refused(provider))
            done = subprocess.run([PYTHON, "-m", "fact.agent_client", provider, "m"], input="", text=True,
                                  capture_output=True, env=self.environment)
            self.assertIn(f"set {key} to yours", json.loads(done.stdout)["error"])


@unittest.skipUnless(THERE, "the packages openai and anthropic are not installed")
class Driving(Agents):
    def test_a_model_behind_an_api_finds_and_writes(self):
        def script(prompt):
            if prompt.startswith("You choose"):
                return json.dumps({"proposals": [{"nodes": NODES, "why": "one pass"}]})
            return fenced(TEXT)

        for provider in PROVIDERS:
            with ModelServer(provider, script) as server:
                self.environment.update(server.environment())
                self.environment["PYTHONPATH"] = os.pathsep.join([os.environ.get("PYTHONPATH", ""), SDK])
                subprocess.run(["rm", "-rf", self.folder / "run"], check=True)
                report = self.optimize(f"{provider}:some-model", "--no-bench")
            agent = report["agent"]
            self.assertEqual((agent["calls"], agent["failed_calls"], agent["accepted"]), (2, 0, 1))
            self.assertEqual((agent["tokens_in"], agent["tokens_out"]), (22, 14))
            kept = "".join(path.read_text() for path in (self.folder / "run" / "agent").glob("*.json*"))
            self.assertNotIn("test-key", kept)


if __name__ == "__main__":
    unittest.main()
