"""The `fact` processes of the MCP server: one process group per request, ended when the request ends."""

import asyncio
import collections
import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import time
from pathlib import Path

import anyio

ROOT = Path(os.environ.get("FACT_ROOT") or Path(__file__).resolve().parents[2])
LONGEST_LINE = 1 << 26  # bytes of a reply; asyncio's default is too small for a large graph
SIGN_OF_LIFE = 2.0  # seconds between reports of progress
PATIENCE = 2.0  # seconds that a program has to end by itself


class Refused(Exception):
    """A request that a tool refuses; its text, and the reply if there is one, go to the caller."""

    def __init__(self, text, reply=None):
        super().__init__(text)
        self.reply = reply


def program():
    """The `fact` program: the one that started the server, else this repository's launcher, else from PATH."""
    launcher = ROOT / "fact"
    return os.environ.get("FACT_PROGRAM") or (str(launcher) if launcher.is_file() else shutil.which("fact") or "fact")


def actions():
    """The actions of a run, as the core lists them: name, summary and the schema of the request."""
    listed = subprocess.run([program(), "act", "--list"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if listed.returncode:
        raise Refused(listed.stderr.strip() or f"`fact act --list` ended with {listed.returncode}")
    return json.loads(listed.stdout)


def folder(run):
    """The run folder as an absolute path: one that begins with a dash could be misread as an
    option."""
    return os.path.abspath(os.path.expanduser(run))


class Child:
    """A running `fact`, in its own process group."""

    running = set()

    def __init__(self, process):
        self.process = process
        self.started = time.monotonic()
        self.last_lines = collections.deque(maxlen=40)  # of its standard error
        self.listener = asyncio.create_task(self._listen())
        Child.running.add(self)

    @classmethod
    async def start(cls, *arguments, has_input=False):
        # Shielded: a cancelled start would leave a process that nobody ends.
        with anyio.CancelScope(shield=True):
            return cls(await asyncio.create_subprocess_exec(
                program(), *arguments, stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, limit=LONGEST_LINE,
            ))

    async def _listen(self):
        while line := await self.process.stderr.readline():
            if text := line.decode(errors="replace").strip():
                self.last_lines.append(text)

    @property
    def seconds(self):
        return round(time.monotonic() - self.started, 1)

    def progress(self):
        return self.last_lines[-1] if self.last_lines else ""

    async def complaint(self):
        """The end of its standard error, from its last line with `error: ` on, once it has
        ended."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.shield(self.listener), PATIENCE)
        lines = list(self.last_lines)
        first = max((i for i, line in enumerate(lines) if line.startswith("error: ")), default=0)
        return "\n".join(lines[first:])

    def signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            if self.process.returncode is None:
                os.killpg(self.process.pid, number)

    async def end(self):
        """On SIGTERM `fact` also ends what it has started; if it does not react, its whole group is
        killed."""
        with anyio.CancelScope(shield=True):
            if self.process.stdin:
                self.process.stdin.close()  # waiting for a line is not interrupted by a signal
            self.signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(self.process.wait(), PATIENCE)
            except asyncio.TimeoutError:
                self.signal(signal.SIGKILL)
                await self.process.wait()
            Child.running.discard(self)

    async def attend(self, work, report):
        """The result of `work`, with progress messages meanwhile; if the caller stops waiting, the process ends."""
        task = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait({task}, timeout=SIGN_OF_LIFE))[0]:
                await report(self.seconds, message=self.progress() or None)
            return task.result()
        except BaseException:
            task.cancel()
            await self.end()
            raise

    async def output(self):
        """All that it writes to standard output, until it ends."""
        text = (await self.process.stdout.read()).decode(errors="replace")
        await self.process.wait()
        Child.running.discard(self)
        return text


class ActServer:
    """One `fact act RUN --serve`, which has read the run's graph once for many actions."""

    def __init__(self, run):
        self.run = run
        self.child = None
        self.loaded_version = None
        self.turn = asyncio.Lock()  # one action at a time

    def _version(self):
        """Changes when discovery.json is written; None if there is none."""
        with contextlib.suppress(OSError):
            found = os.stat(os.path.join(self.run, "discovery.json"))
            return found.st_mtime_ns, found.st_ino, found.st_size

    async def act(self, action, request, report):
        async with self.turn:
            # If others have changed the run since, the process has an old graph.
            changed = self._version() != self.loaded_version
            if self.child and (self.child.process.returncode is not None or changed):
                await self.child.end()
                self.child = None
            if self.child is None:
                self.child = await Child.start("act", self.run, "--serve", has_input=True)
            child = self.child
            child.started = time.monotonic()
            child.last_lines.clear()
            try:
                line = await child.attend(self._ask({"action": action, "request": request}), report)
            except BaseException:
                self.child = None
                raise
            if not line:
                self.child = None
                await child.end()
                raise Refused(await child.complaint() or f"`fact act` ended with {child.process.returncode}")
            self.loaded_version = self._version()
            return json.loads(line)

    async def _ask(self, message):
        with contextlib.suppress(ConnectionError):  # it has ended: its standard error says why
            self.child.process.stdin.write(json.dumps(message).encode() + b"\n")
            await self.child.process.stdin.drain()
        return await self.child.process.stdout.readline()


class Optimization:
    """A `fact optimize` in the background."""

    def __init__(self, run, child):
        self.handle = "run-" + secrets.token_hex(4)
        self.run = run
        self.child = child
        self.done = asyncio.create_task(child.output())
        self.seconds = None
        self.done.add_done_callback(lambda _: setattr(self, "seconds", child.seconds))
        self.cancelled = False

    @property
    def running(self):
        return not self.done.done()

    async def status(self):
        state = {"handle": self.handle, "run": self.run}
        if self.running:
            return {**state, "state": "running", "seconds": self.child.seconds, "progress": self.child.progress()}
        code = self.child.process.returncode
        ended = "cancelled" if self.cancelled and code else "failed" if code else "finished"
        state |= {"state": ended, "exit_code": code, "seconds": self.seconds}
        with contextlib.suppress(ValueError):
            state["report"] = json.loads(self.done.result())
        if code:
            state["why"] = await self.child.complaint()
        return state

    async def wait(self, seconds, report):
        """Waits for its end, at most `seconds`; the run goes on if the caller stops waiting."""
        end = time.monotonic() + seconds
        while self.running and (left := end - time.monotonic()) > 0:
            await asyncio.wait({self.done}, timeout=min(left, SIGN_OF_LIFE))
            await report(self.child.seconds, message=self.child.progress() or None)

    async def cancel(self):
        if self.running:
            self.cancelled = True
            await self.child.end()
            await asyncio.wait({self.done}, timeout=PATIENCE)


class Processes:
    """All running processes: `fact act` by run folder, optimizations by handle."""

    def __init__(self):
        self.act_servers = {}
        self.optimizations = {}

    def _refuse_if_busy(self, run):
        """An optimization locks its run folder for minutes, and a client would not wait so long."""
        for other in self.optimizations.values():
            if other.run == run and other.running:
                raise Refused(f"`fact optimize` is at work in {run}: see optimize_status of {other.handle}")

    async def act(self, run, action, request, report):
        run = folder(run)
        self._refuse_if_busy(run)
        server = self.act_servers.setdefault(run, ActServer(run))
        return await server.act(action, request, report)

    async def start(self, run, arguments):
        run = folder(run)
        self._refuse_if_busy(run)
        child = await Child.start("optimize", f"--run-dir={run}", "--json", *arguments)
        optimization = Optimization(run, child)
        self.optimizations[optimization.handle] = optimization
        return await optimization.status()

    def find(self, handle):
        if handle not in self.optimizations:
            raise Refused(f"there is no run '{handle}': give a handle that optimize_start of this server returned")
        return self.optimizations[handle]

    async def close(self):
        with anyio.CancelScope(shield=True):
            await asyncio.gather(*(child.end() for child in list(Child.running)))
