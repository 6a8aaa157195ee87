"""Commands with time limits for several threads, and how these share out the work."""

import contextlib
import os
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

TIME_IS_UP = 124
GRACE = 10  # seconds between asking a command to end and killing it
# What says that others took the memory: torch's words, the driver's, the worker's and the benchmark's.
SHORT_OF_MEMORY = ("out of memory", "outofmemory", "out_of_memory", "gib of memory", "gpu's memory")


class Stopped(Exception):
    """A command ended because all of them were stopped: its results count for nothing."""


class Crew:
    """Runs commands, one for each thread that asks, and can end them all."""

    def __init__(self, jobs=1):
        self.jobs = jobs
        self._changing = threading.Lock()
        self._running = set()
        self._stopped = False

    def compilers(self):
        """The share of the cores that is left for the compilers of one problem."""
        return max(1, len(os.sched_getaffinity(0)) // self.jobs)

    def status(self, command, limit, output):
        """The exit status of a command, TIME_IS_UP if it was; what it prints goes to the open file."""
        # Its own group, so that Ctrl-C reaches this process alone, which ends the others in order.
        with self._changing:
            if self._stopped:
                raise Stopped
            process = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
            )
            self._running.add(process)
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            end([process])
            status = TIME_IS_UP
        except BaseException:
            end([process])
            raise
        finally:
            with self._changing:
                self._running.discard(process)
        if self._stopped:
            raise Stopped
        return status

    def stop(self):
        """Ends all commands, and lets none begin."""
        with self._changing:
            self._stopped = True
            running = list(self._running)
        end(running)

    def share_out(self, items, work, may_begin):
        """work(item) for every item, `jobs` at a time and in order. Returns those that were not begun,
        because may_begin() had become False. An error in one stops all."""
        left = list(items)
        taking = threading.Lock()

        def drain():
            while True:
                with taking:
                    if not left or self._stopped or not may_begin():
                        return
                    item = left.pop(0)
                try:
                    work(item)
                except Stopped:
                    return

        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                for drained in [pool.submit(drain) for _ in range(self.jobs)]:
                    drained.result()
            except BaseException:  # Ctrl-C too
                self.stop()
                raise
        return left


def spread(items, jobs):
    """The items in such an order that those side by side are far apart in the list: problems near each
    other are alike, and several that need much memory should not meet."""
    items = list(items)
    step = max(1, -(-len(items) // jobs))
    return [item for first in range(step) for item in items[first::step]]


def end(processes):
    """Asks, waits and then kills: `fact` ends what it has started when it is asked."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE)


def short_of_room(status, *texts):
    """Whether a problem may have ended as it did only because others ran beside it: they take memory
    of the GPU and of the host, and time."""
    if status in (TIME_IS_UP, -signal.SIGKILL, 128 + signal.SIGKILL):
        return True
    return any(word in text.lower() for text in texts for word in SHORT_OF_MEMORY)
