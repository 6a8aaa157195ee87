"""Whether a package computes the same in CUDA graphs and on several streams at once as by itself.

    python tests/gpu/replays.py PACKAGE SPEC [DTYPE]

Kernels that wait for each other's blocks leave marks in memory that nobody clears: a graph replays
them with the marks of the replay before, and streams run several at a time. Inputs are drawn anew
for every call, so that what is left of the one before would show.
"""

import sys

import torch
from torch.utils import _pytree as pytree

import fact
from fact.trace import load_model

CALLS, STREAMS = 20, 3


def drawn(x):
    if not isinstance(x, torch.Tensor):
        return x
    if x.is_floating_point():
        return torch.randn_like(x)
    return x.flatten()[torch.randperm(x.numel(), device=x.device)].view(x.shape)


def same(got, want):
    pairs = zip(pytree.tree_leaves(got), pytree.tree_leaves(want))
    return all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in pairs)


def wrong_replays(module, calls):
    static = pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, calls[0][0])
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            module(*static)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = module(*static)
    wrong = 0
    for inputs, want in calls:
        for to, of in zip(pytree.tree_leaves(static), pytree.tree_leaves(inputs)):
            if isinstance(to, torch.Tensor):
                to.copy_(of)
        graph.replay()
        torch.cuda.synchronize()
        wrong += not same(result, want)
    return wrong


def wrong_beside_others(module, calls):
    streams = [torch.cuda.Stream() for _ in range(STREAMS)]
    torch.cuda.synchronize()
    results = []
    for i, (inputs, _) in enumerate(calls):
        with torch.cuda.stream(streams[i % STREAMS]):
            results.append(module(*inputs))
    torch.cuda.synchronize()
    return sum(not same(got, want) for got, (_, want) in zip(results, calls))


def main():
    package, spec, *dtype = sys.argv[1:]
    _, inputs = load_model(spec, *dtype, device="cuda")
    module = fact.load(package).cuda()
    torch.manual_seed(1)
    with torch.no_grad():
        calls = [pytree.tree_map(drawn, inputs) for _ in range(CALLS)]
        calls = [(given, module(*given)) for given in calls]
        torch.cuda.synchronize()
        replays, beside = wrong_replays(module, calls), wrong_beside_others(module, calls)
    print(f"{spec}: {CALLS} replays, {replays} wrong; {CALLS} calls on {STREAMS} streams, {beside} wrong")
    return replays + beside > 0


sys.exit(main())
