"""`fact mcp`, driven by the protocol's own client in both of its eras."""

import asyncio
import contextlib
import json
import os
import pathlib
import stat
import sys
import time
import unittest
import urllib.parse

from agents import MODEL, NODES, TEXT
from command_line import PROGRAM, ROOT, CommandLine

SDK = os.environ.get("FACT_TEST_SDK", "")  # a folder with the package mcp and what it needs
if SDK:
    sys.path.insert(0, SDK)
try:
    import anyio
    from mcp import Client, MCPError, StdioServerParameters
except ImportError:
    Client = None

ERAS = ("legacy", "2026-07-28")  # with initialize, and stateless
TOOLS = ["look", "patterns", "source", "propose", "write", "schedules", "withdraw", "learn", "examples", "measure", "compose",
         "budget",
         "stop", "optimize_start", "optimize_status", "optimize_cancel"]

# Stands for a `fact` whose work takes for ever, with a process of its own.
SLOW = """#!/bin/sh
case "$*" in
"act --list") exec {program} act --list ;;
esac
sleep 600 &
echo $! >>{pids}
echo "work: under way" >&2
wait
"""


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


class Mcp(CommandLine):
    def setUp(self):
        super().setUp()
        self.source = self.write("model.py", MODEL)
        self.run_folder = str(self.folder / "run")
        paths = [SDK, self.environment.get("PYTHONPATH", "")]
        self.environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))


class WithoutTheSdk(Mcp):
    def test_it_says_what_to_install(self):
        (self.folder / "none").mkdir()
        (self.folder / "none" / "mcp_types.py").write_text("raise ImportError('not here')\n")
        self.environment["PYTHONPATH"] = str(self.folder / "none")
        done = self.fact("mcp")
        self.refused(done, "pip install mcp")
        self.assertEqual(done.stdout, "")


@unittest.skipUnless(Client, "there is no package mcp: pip install mcp, or set FACT_TEST_SDK to a folder with it")
class Server(Mcp):
    def drive(self, work, mode="auto", program=None):
        """Runs `work(client)` beside a server, which has `program` as its `fact`."""
        words = [PROGRAM, "mcp"]
        if program:
            self.environment |= {"FACT_PROGRAM": program, "FACT_ROOT": str(ROOT)}
            self.environment["PYTHONPATH"] = f"{ROOT / 'python'}{os.pathsep}{self.environment['PYTHONPATH']}"
            words = [os.environ.get("FACT_PYTHON", sys.executable), "-m", "fact.mcp_server"]
        server = StdioServerParameters(command=words[0], args=words[1:], env=self.environment, cwd=self.folder)

        async def session():
            async with Client(server, mode=mode) as client:
                return await work(client)

        return asyncio.run(asyncio.wait_for(session(), 600))

    async def call(self, client, name, **arguments):
        done = await client.call_tool(name, arguments)
        self.assertFalse(done.is_error, done.structured_content)
        self.assertEqual(json.loads(done.content[0].text), done.structured_content)
        return done.structured_content

    async def error(self, client, name, **arguments):
        done = await client.call_tool(name, arguments)
        self.assertTrue(done.is_error, done.structured_content)
        return done.structured_content["error"]

    def slow(self):
        self.pids = self.folder / "pids"
        path = self.write("slow", SLOW.format(program=PROGRAM, pids=self.pids))
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return path

    async def at_work(self):
        while not (self.pids.exists() and self.pids.read_text().strip()):
            await anyio.sleep(0.05)
        return [int(pid) for pid in self.pids.read_text().split()]


class Eras(Server):
    def test_from_a_module_to_a_package(self):
        for era in ERAS:
            with self.subTest(era):
                self.run_folder = str(self.folder / f"run-{era}")
                self.drive(self.whole, era)

    async def whole(self, client):
        self.assertEqual([tool.name for tool in (await client.list_tools()).tools], TOOLS)
        state = await self.call(client, "optimize_start", source=self.source, run=self.run_folder, bench=False)
        handle = state["handle"]
        self.assertEqual(state["state"], "running")
        self.assertIn("at work", await self.error(client, "look", run=self.run_folder))
        while state["state"] == "running":
            state = await self.call(client, "optimize_status", handle=handle, wait=10)
        self.assertEqual(state["state"], "finished", state)
        self.assertEqual(state["report"]["operators"]["left_alone"], 3)

        self.assertEqual((await self.call(client, "look", run=self.run_folder))["all"], 5)
        self.assertIn("no proposal", await self.error(client, "write", run=self.run_folder, proposal="a", text=TEXT))
        proposal = (await self.call(client, "propose", run=self.run_folder, nodes=NODES))["proposal"]
        wrong = TEXT.replace("log(1.0", "log(1.1")
        for text, fine in ((wrong, False), (TEXT, True)):
            reply = await self.call(client, "write", run=self.run_folder, proposal=proposal, text=text)
            self.assertEqual(reply["accepted"], fine)
        fused = (await self.call(client, "compose", run=self.run_folder))["fused"]
        self.assertIn(proposal, fused)
        self.assertTrue((pathlib.Path(self.run_folder) / "package" / "manifest.json").is_file())

        place = f"fact://runs/{urllib.parse.quote(self.run_folder, safe='')}/"
        for name in ("report.json", "report.txt", "discovery.json"):
            read = await client.read_resource(place + name)
            self.assertEqual(read.contents[0].text, (pathlib.Path(self.run_folder) / name).read_text())

    def test_resources_and_prompts(self):
        async def work(client):
            read = await client.read_resource("fact://language")
            self.assertIn("# The kernel language", read.contents[0].text)
            listed = await client.list_resource_templates()
            self.assertEqual([one.uri_template for one in listed.resource_templates], ["fact://runs/{run}/{file}"])
            asked = await client.get_prompt("optimize_module", {"source": "m.py", "run": "/r", "dtype": "bf16"})
            self.assertIn("source m.py and run /r, dtype bf16.", asked.messages[0].content.text)
            asked = await client.get_prompt("write_kernel", {"run": "/r", "proposal": "a_0"})
            self.assertIn("# The kernel language", asked.messages[0].content.text)
            self.assertNotIn("{{", asked.messages[0].content.text)
            for name, arguments in (("dance", {}), ("write_kernel", {"run": "/r"})):
                with self.assertRaises(MCPError):
                    await client.get_prompt(name, arguments)

        for era in ERAS:
            self.drive(work, era)

    def test_nothing_else_is_on_standard_output(self):
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}}
        done = self.fact("mcp", input=json.dumps(hello) + "\nnonsense\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        replies = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(replies[0]["result"]["serverInfo"]["name"], "fact")


class Trouble(Server):
    def test_bad_arguments_are_errors_of_the_tool(self):
        async def work(client):
            for name, arguments, said in (
                ("look", {}, "'run' is a required property"),
                ("look", {"run": 3}, "run: 3 is not of type 'string'"),
                ("look", {"run": str(self.folder)}, "not a run folder"),
                ("look", {"run": "--serve"}, "not a run folder"),
                ("look", {"run": "a\0b"}, "null byte"),
                ("compose", {"run": str(self.folder / "none")}, "none"),
                ("optimize_cancel", {"handle": "run-0", "dance": 1}, "'dance' was unexpected"),
                ("optimize_start", {"source": self.source, "run": self.run_folder, "dtype": "f8"}, "dtype: 'f8'"),
                ("optimize_status", {"handle": "run-0"}, "no run 'run-0'"),
                ("optimize_cancel", {"handle": "run-0"}, "no run 'run-0'"),
                ("dance", {}, "no tool 'dance'"),
            ):
                with self.subTest(name, **arguments):
                    self.assertIn(said, await self.error(client, name, **arguments))
            state = await self.call(client, "optimize_start", source="--help", run=self.run_folder)
            state = await self.call(client, "optimize_status", handle=state["handle"], wait=60)
            self.assertEqual((state["state"], state["exit_code"]), ("failed", 2))
            self.assertIn("--help", state["why"])

        self.drive(work)

    def test_a_path_outside_of_the_run_is_refused(self):
        outside = self.folder / "outside"
        for folder in (outside, pathlib.Path(self.run_folder)):
            folder.mkdir()
            (folder / "run.json").write_text("{}")
        (outside / "secret.txt").write_text("secret")
        (outside / "report.txt").write_text("secret")
        os.symlink(outside / "secret.txt", pathlib.Path(self.run_folder) / "report.txt")

        async def work(client):
            run = self.run_folder
            for path in (f"{run}/../outside/report.txt", f"{run}/report.txt", f"{run}/run.json",
                         f"{outside}/secret.txt", "run/report.txt", "/etc/passwd", ""):
                for sent in (path, urllib.parse.quote(path, safe=""), urllib.parse.quote(path)):
                    with self.subTest(sent), self.assertRaises(MCPError) as refused:
                        await client.read_resource(f"fact://runs/{sent}")
                    self.assertIn("run", str(refused.exception))
            with self.assertRaises(MCPError):
                await client.read_resource("file:///etc/passwd")

        self.drive(work)

    def test_a_cancelled_call_ends_its_work(self):
        async def work(client):
            for name, arguments in (("write", {"proposal": "a", "text": "b"}), ("compose", {})):
                self.pids.unlink(missing_ok=True)
                heard = []

                async def progress(seconds, _total, message):
                    heard.append(message)

                async with anyio.create_task_group() as group:
                    group.start_soon(lambda: client.call_tool(
                        name, {"run": self.run_folder, **arguments}, progress_callback=progress))
                    pids = await self.at_work()
                    while not heard:
                        await anyio.sleep(0.05)
                    group.cancel_scope.cancel()
                self.assertEqual(heard[0], "work: under way")
                ended = await anyio.to_thread.run_sync(wait_for, lambda: not any(map(alive, pids)))
                self.assertTrue(ended, name)
            self.assertEqual(len((await client.list_tools()).tools), len(TOOLS))

        program = self.slow()
        for era in ERAS:
            self.drive(work, era, program)

    def test_a_cancelled_run_ends_and_so_does_one_whose_server_goes(self):
        async def work(client):
            state = await self.call(client, "optimize_start", source=self.source, run=self.run_folder)
            pids = await self.at_work()
            state = await self.call(client, "optimize_status", handle=state["handle"], wait=1)
            self.assertEqual((state["state"], state["progress"]), ("running", "work: under way"))
            self.assertIn(state["handle"], await self.error(client, "optimize_start", source="x", run=self.run_folder))
            state = await self.call(client, "optimize_cancel", handle=state["handle"])
            self.assertEqual(state["state"], "cancelled")
            self.assertFalse(any(map(alive, pids)))
            self.pids.unlink()
            await self.call(client, "optimize_start", source=self.source, run=self.run_folder)
            return await self.at_work()

        left = self.drive(work, program=self.slow())
        self.assertTrue(wait_for(lambda: not any(map(alive, left))))

    def test_nothing_of_a_cancelled_run_is_left(self):
        async def work(client):
            state = await self.call(client, "optimize_start", source=self.source, run=self.run_folder)
            while state["state"] == "running" and not self.at_run():
                state = await self.call(client, "optimize_status", handle=state["handle"], wait=0.1)
            state = await self.call(client, "optimize_cancel", handle=state["handle"])
            self.assertEqual((state["state"], state["exit_code"]), ("cancelled", 130))
            self.assertTrue(await anyio.to_thread.run_sync(wait_for, lambda: not self.at_run()))

        self.drive(work)

    def at_run(self):
        """Processes that were told of the run folder, but for `fact` itself."""
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().decode(errors="replace")
                if self.run_folder in words and not words.startswith(PROGRAM) and alive(entry.name):
                    found.append(words)
        return found


if __name__ == "__main__":
    unittest.main()
