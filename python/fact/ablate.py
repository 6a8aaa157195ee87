"""Several packages of one module timed in turns: `python -m fact.ablate SOURCE PACKAGE...`.

The composer asks this which fused patterns pay in the whole module.
"""

import argparse
import json
import sys

import torch

from fact import _timing
from fact._files import write_text
from fact.package import load
from fact.trace import DTYPES, BadInput, load_model


def run(source, packages, dtype=None, allow_tf32=False):
    """One timing for each package, in their order."""
    torch.backends.cuda.matmul.allow_tf32 = allow_tf32
    torch.backends.cudnn.allow_tf32 = allow_tf32
    _, inputs = load_model(source, dtype, "cuda")
    modules = [load(package).to("cuda").eval() for package in packages]
    return _timing.single([lambda module=module: module(*inputs) for module in modules])


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="fact.ablate", description=__doc__)
    parser.add_argument("source", help="FILE.py or package.module:factory")
    parser.add_argument("packages", nargs="+", help="package folders")
    parser.add_argument("--dtype", choices=sorted(DTYPES))
    parser.add_argument("--allow-tf32", action="store_true")
    parser.add_argument("--json", required=True, help="where to write the times")
    options = parser.parse_args(arguments)
    try:
        with torch.no_grad():
            times = run(options.source, options.packages, options.dtype, options.allow_tf32)
    except BadInput as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    write_text(options.json, json.dumps({"times": times}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
