"""The GPU kernels that a package launches, with their times, and those of torch.compile beside them.

    python bench/stages.py PROBLEM PACKAGE [--dtype bf16] [--training] [--no-peer]

PROBLEM is what the package was made from, PACKAGE the folder. Times are microseconds per call by
torch's profiler, which adds a little to each launch: what matters is their proportion.
"""

import argparse
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

CALLS = 10
MOST_LETTERS = 100  # of a kernel's name


def launches(module, inputs):
    """Microseconds and launches per call, by kernel, in the order of their first launch."""
    import torch

    for _ in range(3):
        module(*inputs)
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(CALLS):
            module(*inputs)
        torch.cuda.synchronize()
    found = defaultdict(lambda: [0.0, 0])
    for event in profile.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            found[event.name][0] += event.device_time / CALLS
            found[event.name][1] += 1
    return {name: (time, count / CALLS) for name, (time, count) in found.items()}


def show(title, found):
    print(f"{title}: {sum(time for time, _ in found.values()):.0f} us")
    for name, (time, count) in found.items():
        print(f"  {time:8.1f} us  x{count:g}  {name[:MOST_LETTERS]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problem", help="FILE.py or package.module:factory")
    parser.add_argument("package", help="the package made from it")
    parser.add_argument("--dtype", choices=("bf16", "fp16"), help="as the package was made")
    parser.add_argument("--training", action="store_true", help="as the package was made")
    parser.add_argument("--no-peer", action="store_true", help="without torch.compile")
    arguments = parser.parse_args()

    import torch

    if not torch.cuda.is_available():
        sys.exit("bench/stages.py: there is no GPU that torch can use")
    import fact
    from fact._gpu_lock import EXCLUSIVE
    from fact._turn import Turn, compiling_aside
    from fact.trace import load_model, to_device

    made = load_model(arguments.problem, arguments.dtype, training=arguments.training)
    with torch.no_grad(), Turn("cuda", "stages", EXCLUSIVE) as turn:
        module, inputs = to_device(arguments.problem, *made, "cuda")
        show("package", launches(fact.load(arguments.package).to("cuda"), inputs))
        if not arguments.no_peer:
            compiled = torch.compile(module)
            with compiling_aside(turn):
                compiled(*inputs)
            show("torch.compile", launches(compiled, inputs))


if __name__ == "__main__":
    main()
