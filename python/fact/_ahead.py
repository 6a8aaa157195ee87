"""A module of FACT's that is imported before its arguments are known: `python -m fact._ahead MODULE`.

Reads one line, the arguments as a JSON list, and is `python -m MODULE ARGUMENTS` from then on: the
seconds that importing torch takes have passed by then.
"""

import contextlib
import importlib
import json
import os
import sys

# What torch imports when it compiles or counts flops, without its own modules that read settings: the
# user's source may still change those.
ALSO = {"fact.bench": ("sympy", "networkx")}


def arguments():
    """The line from standard input, which is empty afterwards; None if there will be none."""
    text = b""
    while not text.endswith(b"\n"):
        part = os.read(0, 1 << 16)
        if not part:
            return None
        text += part
    return json.loads(text)


def main():
    # Both pipes stay open, which says that the program is at work; nobody reads what it prints.
    pipes = os.dup(0), os.dup(1)  # noqa: F841
    os.dup2(2, 1)
    module = importlib.import_module(sys.argv[1])
    with contextlib.suppress(ImportError):
        for name in ALSO.get(module.__name__, ()):
            importlib.import_module(name)
    given = arguments()
    if given is None:
        return 0
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    sys.argv = [module.__file__, *given]
    return module.main(given)


if __name__ == "__main__":
    sys.exit(main())
