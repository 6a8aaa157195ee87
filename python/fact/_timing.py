"""GPU times of several functions, taken in turns so that all see the same GPU."""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import torch

ROUNDS = 5  # of a sustained measurement, at most
LEAST_ROUNDS, LEAST_RUNS = 3, 25  # before a measurement may end early
SURE = 0.002  # of a median: the standard error at which a measurement ends early
FEWEST_RUNS = 11  # of a brief measurement, which ends at LEAST_RUNS
BRIEFLY_SURE = 0.005  # or earlier, at this standard error
LONG_CALL = 0.005  # seconds: one that takes as long needs few others before it
LEAST_US = 100_000.0  # of each function in a round
CYCLES_PER_US = 2_000.0  # of torch's spinning kernel, at about the highest clock
KEEPS_UP = 0.8  # of the GPU's time for a call: a host that needs no more leaves no gaps
AS_FAST = 1.05  # times a call: a replay that takes longer runs other kernels than the call


def summarize(values):
    """Median, 10th and 90th percentile (nearest rank) and count."""
    if not values:
        return {"median_us": 0.0, "low_us": 0.0, "high_us": 0.0, "runs": 0}
    ordered = sorted(values)
    count = len(ordered)

    def rank(share):
        return ordered[min(count, max(1, math.ceil(share * count))) - 1]

    middle = count // 2
    median = ordered[middle] if count % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return {"median_us": median, "low_us": rank(0.1), "high_us": rank(0.9), "runs": count}


def sure(lists, share=SURE):
    """Whether the medians of all lists are known well enough. For normal errors the median's is 1.25
    times the mean's, and from the 10th to the 90th percentile there are 2.56 standard deviations."""

    def error(values):
        spread = summarize(values)
        return 1.25 * (spread["high_us"] - spread["low_us"]) / 2.56 / math.sqrt(len(values))

    return all(error(values) <= share * summarize(values)["median_us"] for values in lists)


def _span(work, occupy_us, count=1):
    """Events before and after `count` calls; the GPU first spins for `occupy_us`, so that the host
    can launch ahead."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(int(occupy_us * CYCLES_PER_US))
    begin.record()
    for _ in range(count):
        work()
    end.record()
    return begin, end


def _microseconds(span):
    span[1].synchronize()
    return span[0].elapsed_time(span[1]) * 1000


def _estimate(work):
    """(GPU, host) microseconds of one call, after warming up."""
    work()
    torch.cuda.synchronize()
    hosts = []
    while len(hosts) < 3:
        start = time.perf_counter()
        work()
        hosts.append((time.perf_counter() - start) * 1e6)
        torch.cuda.synchronize()
        if time.perf_counter() - start >= LONG_CALL:
            break
    host = sorted(hosts)[len(hosts) // 2]
    return _microseconds(_span(work, 2 * host + 100)), host


def single(works, total_us=2_000_000.0, brief=False):
    """One call at a time. The GPU is kept busy while the host launches, so that only the GPU's
    time is counted. `brief`: no more runs than a median needs to be known to half a percent, or
    LEAST_RUNS."""
    estimates = [_estimate(work) for work in works]
    occupy = [min(100_000.0, 2 * host + 100) for _, host in estimates]
    turn = sum(gpu for gpu, _ in estimates) + sum(occupy)
    runs = LEAST_RUNS if brief else int(min(101, max(FEWEST_RUNS, total_us / turn)))
    least, share = (FEWEST_RUNS, BRIEFLY_SURE) if brief else (LEAST_RUNS, SURE)
    times = [[] for _ in works]
    for run in range(runs):
        for work, busy, list_ in zip(works, occupy, times):
            list_.append(_microseconds(_span(work, busy)))
        if run + 1 >= least and sure(times, share):
            break
    return [summarize(list_) for list_ in times]


class Repeatable(NamedTuple):
    """What to repeat for a sustained time, and its description."""

    work: Callable
    how: str
    refused: dict | None = None  # the time of a replay that takes longer than a call


def repeatable(work):
    """The calls themselves if the host keeps up with the GPU. If not, a CUDA graph of one call, so
    that there are no gaps, but only if its replay is as fast as a call: some models run other code
    while they are captured."""
    gpu, host = _estimate(work)
    if host <= KEEPS_UP * gpu:
        return Repeatable(work, "calls")
    replay = captured(work)
    if replay is None:
        return Repeatable(work, "calls, limited by the host")
    called, replayed = single([work, replay], total_us=500_000.0)
    if replayed["median_us"] <= AS_FAST * called["median_us"]:
        return Repeatable(replay, "a CUDA graph")
    return Repeatable(work, "calls, limited by the host", replayed)


def captured(work):
    """The replay of the work as a CUDA graph; None if it cannot be captured."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    try:
        with torch.cuda.stream(side):
            for _ in range(3):
                work()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
    except RuntimeError:
        torch.cuda.synchronize()
        return None
    return graph.replay


def sustained(works):
    """Calls back to back, at least LEAST_US of each in a round: the speed at the GPU's power
    limit."""
    counts = [max(2, int(LEAST_US / _estimate(work)[0])) for work in works]
    times = [[] for _ in works]
    for round_ in range(ROUNDS):
        for work, count, list_ in zip(works, counts, times):
            list_.append(_microseconds(_span(work, 500, count)) / count)
        if round_ + 1 >= LEAST_ROUNDS and sure(times):
            break
    return [summarize(list_) for list_ in times]


def peak_bytes(work):
    """Memory one call needs beyond what is already allocated."""
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    work()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before
