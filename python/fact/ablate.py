"""A module and several packages of it timed in turns: `python -m fact.ablate SOURCE PACKAGE...`.

The composer uses it to find out which fused patterns pay in the whole module.
"""

import argparse
import json
import sys

import torch

from fact import _precision, _timing
from fact._eager import call, tensors_of
from fact._errors import BadInput, print_error
from fact._files import write_failure, write_text
from fact._gpu_memory import TIMED, Memory
from fact._turn import Turn
from fact.package import declared_namespaces, load
from fact.trace import DTYPES, load_model, to_device


def run(source, packages, dtype=None, allow_tf32=False, training=False, device="cuda", brief=False):
    """The module's timing, and one for each package, in their order, under the precision settings that
    the source leaves in torch."""
    made = load_model(source, dtype, training=training)
    if allow_tf32:
        _precision.allow_tf32()
    module, inputs = made
    tensors = [*module.parameters(), *module.buffers(), *tensors_of(inputs)]
    with Memory(device, "ablation") as memory:
        memory.take(tensors, TIMED)
        with Turn(device, "ablation") as turn:
            made = to_device(source, *made, device)
            return _measured(source, *made, packages, device, turn, brief)


def _measured(source, original, inputs, packages, device, turn, brief):
    # All share the original's weights: a copy for each package of a large model would not fit.
    loaded = []
    for package in packages:
        turn.rest()
        loaded.append(load(package, original, allow=declared_namespaces(package)).to(device))
    call(original, inputs, source)
    works = [lambda module=module: module(*inputs) for module in [original, *loaded]]
    for work in works:
        turn.rest()
        work()  # loads its kernels
    with turn.alone():
        # Measured for long, unless briefly, since packages may differ by little.
        eager, *times = _timing.single(works, total_us=4_000_000.0, brief=brief)
    return {"eager": eager, "times": times}


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="fact.ablate", description=__doc__)
    parser.add_argument("source", help="FILE.py or package.module:factory")
    parser.add_argument("packages", nargs="+", help="package folders")
    parser.add_argument("--dtype", choices=sorted(DTYPES))
    parser.add_argument("--allow-tf32", action="store_true")
    parser.add_argument("--training", action="store_true")
    parser.add_argument("--brief", action="store_true", help="few runs, for differences that are not small")
    parser.add_argument("--json", required=True, help="where to write the times")
    options = parser.parse_args(arguments)
    try:
        with torch.no_grad():
            result = run(
                options.source,
                options.packages,
                options.dtype,
                options.allow_tf32,
                options.training,
                brief=options.brief,
            )
    except BadInput as error:
        print_error(error)
        return 2
    try:
        write_text(options.json, json.dumps(result) + "\n")
    except OSError as error:
        print(f"error: {write_failure(error)}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
