"""Times of a problem without FACT, as JSON: eager and torch.compile.

    python bench/kernelbench/baselines.py PROBLEM.py TIMES.json

For problems of which no package was made. Measured like the packages of the others: on the same
inputs, in training mode, in turns, one call at a time, as briefly, while no other run uses the GPU.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))


def times(problem, device="cuda"):
    """Medians in microseconds, by name; what fails has none."""
    import torch
    from fact import _timing
    from fact._eager import tensors_of
    from fact._gpu_memory import TIMED, Memory
    from fact._turn import Turn, compiling_aside
    from fact.trace import load_model, to_device

    module, inputs = load_model(problem, training=True)
    tensors = [*module.parameters(), *module.buffers(), *tensors_of(inputs)]
    memory, turn = Memory(device, "baselines"), Turn(device, "baselines")
    memory.take(tensors, TIMED)
    with torch.no_grad(), memory, turn:
        module, inputs = to_device(problem, module, inputs, device)
        modules = {"eager": module, "torch.compile": torch.compile(module)}
        works = {}
        for name, one in modules.items():
            try:
                with compiling_aside(turn):
                    one(*inputs)
            except Exception as error:  # torch.compile raises many kinds; eager still counts
                print(f"{name} fails: {error}", file=sys.stderr)
                continue
            works[name] = lambda one=one: one(*inputs)
            turn.rest()
        with turn.alone():
            measured = _timing.single(list(works.values()), brief=True) if works else []
    return {name: one["median_us"] for name, one in zip(works, measured)}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    import torch

    if not torch.cuda.is_available():
        sys.exit("there is no GPU: nothing is timed")
    Path(sys.argv[2]).write_text(json.dumps(times(sys.argv[1])) + "\n")


if __name__ == "__main__":
    main()
