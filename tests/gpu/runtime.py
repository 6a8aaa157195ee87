"""How a package lives on a GPU: prepared weights, streams, CUDA graphs, threads, several GPUs.

    python tests/gpu/runtime.py PACKAGE SPEC [DTYPE]

The package is the one of SPEC, whose kernels should keep something of its weights. One line a check;
ends with 1 where one failed.
"""

import gc
import sys
import threading
import traceback
import warnings

import torch
from torch.utils import _pytree as pytree

import fact
from fact.trace import load_model

PACKAGE, *SPEC = sys.argv[1:]
SLEEP = 1_000_000_000  # cycles: half a second
CLOSE = 2e-2 if len(SPEC) > 1 else 1e-4  # of the largest


def drawn(seed):
    """The module with other weights."""
    module, _ = load_model(*SPEC, device="cuda")
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(1 + 0.3 * torch.randn_like(parameter))
    return module


def call(module, inputs):
    return pytree.tree_leaves(module(*inputs))[0]


def double(value):
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def near(got, want):
    return ((got - want).abs().max() / want.abs().max()).item() < CLOSE


def captured(package, x):
    """A graph of one call, and where its result lies."""
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = call(package, x)
    return graph, result


def replayed(graph, result):
    graph.replay()
    torch.cuda.synchronize()
    return result.clone()


def scribble():
    """Writes over memory that torch has been given back."""
    torch.cuda.current_stream().synchronize()
    kept, reserved = [], torch.cuda.memory_reserved()
    for size in (256 << 20, 32 << 20, 4 << 20, 1 << 20):
        while torch.cuda.memory_allocated() + size <= reserved >= torch.cuda.memory_reserved():
            kept.append(torch.full((size // 4,), float("nan"), device="cuda"))
        reserved = torch.cuda.memory_reserved()  # one may not have fitted in


def allocated():
    gc.collect()
    torch.cuda.synchronize()
    return torch.cuda.memory_allocated()


def runs_by_its_kernels(x):
    package = fact.load(PACKAGE, strict=True).cuda()
    call(package, x)
    status = package.status()
    print(status)
    return len(status.patterns) > 0 and all(p.runs and p.calls == 1 for p in status.patterns)


def falls_back_with_a_warning(x):
    package, module = fact.load(PACKAGE).cuda().double(), drawn(0).double()
    module.load_state_dict(package.state_dict())
    x = [double(value) for value in x]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        right = near(call(package, x), call(module, x))
        call(package, x)
    count = sum(issubclass(one.category, fact.FallbackWarning) for one in said)
    return right and count == len(package.status().patterns)


def strict_refuses_to_fall_back(x):
    package = fact.load(PACKAGE, strict=True).cuda().double()
    try:
        call(package, [double(value) for value in x])
    except RuntimeError as error:
        return "strict=True" in str(error)
    return False


def first_call_may_be_captured(x):
    package = fact.load(PACKAGE, strict=True).cuda()
    graph, result = captured(package, x)
    return torch.equal(replayed(graph, result), call(package, x))


def another_stream_reads_on(x):
    """What was made of weights is made anew while an earlier call still waits for its turn."""
    package = fact.load(PACKAGE, strict=True).cuda()
    want, side = call(package, x).clone(), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(SLEEP)
        got = call(package, x)
    for parameter in package.parameters():
        parameter.add_(0)  # torch counts a change
    call(package, x)  # gives up what was made before
    scribble()
    torch.cuda.synchronize()
    return torch.equal(got, want)


def uncounted_writes_are_seen_after_refresh(x):
    package, other = fact.load(PACKAGE, strict=True).cuda(), drawn(3)
    matrices = {name: own for name, own in package.named_parameters() if own.dim() > 1}
    sources = {name: own.clone() for name, own in matrices.items()}
    call(package, x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for name, own in matrices.items():
            own.copy_(sources[name])
    before = call(package, x).clone()
    for name, source in sources.items():
        source.copy_(other.get_parameter(name))
    graph.replay()  # writes the weights, and torch counts nothing
    stale = torch.equal(call(package, x), before)
    package.refresh()
    module = drawn(0)
    module.load_state_dict(package.state_dict())
    stale |= len(SPEC) > 1  # some kernels read such weights as they are
    return stale and near(call(package, x), call(module, x)) and not near(before, call(module, x))


def a_graph_sees_new_weights_after_a_call(x):
    package, other = fact.load(PACKAGE, strict=True).cuda(), drawn(5)
    call(package, x)
    graph, result = captured(package, x)
    replayed(graph, result)
    package.load_state_dict(other.state_dict())
    want = call(package, x).clone()
    return torch.equal(replayed(graph, result), want) and near(want, call(other, x))


def rounds(make, x, change=lambda package, number: None, count=6):
    """The memory that is left after each round of loading, capturing and dropping."""
    left = []
    for number in range(count):
        package = make()
        change(package, number)
        call(package, x)
        graph, result = captured(package, x)
        replayed(graph, result)
        del package, graph, result
        left.append(allocated())
    print("  ", [f"{bytes_ / 1e6:.1f} MB" for bytes_ in left])
    return max(left[2:]) <= left[1]


def rounds_over_one_module_keep_one_copy(x):
    module = drawn(7)
    return rounds(lambda: fact.load(PACKAGE, weights=module, strict=True), x)


def rounds_over_own_weights_keep_none(x):
    return rounds(lambda: fact.load(PACKAGE, strict=True).cuda(), x)


def rounds_of_new_values_keep_one_copy(x):
    package = fact.load(PACKAGE, strict=True).cuda()
    others = [drawn(seed).state_dict() for seed in range(2)]
    return rounds(lambda: package, x, lambda own, number: own.load_state_dict(others[number % 2]))


def a_graph_outlives_its_package(x):
    module = drawn(9)
    package = fact.load(PACKAGE, weights=module, strict=True)
    want = call(package, x).clone()
    graph, result = captured(package, x)
    del package
    gc.collect()
    scribble()
    call(fact.load(PACKAGE, weights=drawn(10), strict=True), x)
    scribble()
    return torch.equal(replayed(graph, result), want)


def garbage_is_collected_during_a_capture(x):
    package, garbage = (fact.load(PACKAGE, strict=True).cuda() for _ in range(2))
    want = call(package, x).clone()
    call(garbage, x)
    torch.cuda.synchronize()
    garbage.itself = [garbage]
    last = [garbage]
    del garbage
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        last.clear()
        gc.collect()
        result = call(package, x)
    return torch.equal(replayed(graph, result), want)


def threads_that_call_it_first_agree(x):
    package, results = fact.load(PACKAGE, strict=True).cuda(), [None] * 4
    torch.cuda.synchronize()
    start = threading.Barrier(len(results))

    def work(i):
        start.wait()
        with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(10):
                results[i] = call(package, x)
            torch.cuda.current_stream().synchronize()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(results))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    want = call(package, x)
    return all(torch.equal(result, want) for result in results)


def the_second_gpu_runs_its_own(x):
    if torch.cuda.device_count() < 2:
        return None
    package = fact.load(PACKAGE, strict=True).cuda()
    want = call(package, x).cpu()
    package.to("cuda:1")
    x = pytree.tree_map_only(torch.Tensor, lambda value: value.to("cuda:1"), x)
    first = call(package, x)
    status = package.status()
    with torch.cuda.device(1):
        graph, result = captured(package, x)
        again = replayed(graph, result)
    right = all(torch.equal(got.cpu(), want) for got in (first, again))
    return right and status.device == "cuda:1" and all(p.runs for p in status.patterns)


CHECKS = (
    runs_by_its_kernels,
    falls_back_with_a_warning,
    strict_refuses_to_fall_back,
    first_call_may_be_captured,
    another_stream_reads_on,
    uncounted_writes_are_seen_after_refresh,
    a_graph_sees_new_weights_after_a_call,
    rounds_over_one_module_keep_one_copy,
    rounds_over_own_weights_keep_none,
    rounds_of_new_values_keep_one_copy,
    a_graph_outlives_its_package,
    garbage_is_collected_during_a_capture,
    threads_that_call_it_first_agree,
    the_second_gpu_runs_its_own,
)


def main():
    if not torch.cuda.is_available():
        print("skipped: there is no GPU")
        return 0
    _, x = load_model(*SPEC, device="cuda")
    failed = 0
    # In f64 the graph of a module that names its type would refuse.
    in_double = (falls_back_with_a_warning, strict_refuses_to_fall_back)
    for check in CHECKS if len(SPEC) == 1 else [c for c in CHECKS if c not in in_double]:
        try:
            with torch.no_grad():
                passed = check(x)
        except Exception:  # the next check may still say something
            traceback.print_exc()
            passed = False
        said = {True: "passed", False: "FAILED", None: "skipped: there is one GPU"}[passed]
        print(f"{check.__name__.replace('_', ' ')}: {said}", flush=True)
        failed += passed is False
    return int(failed > 0)


sys.exit(main())
