"""Texts of the kernel language as functions, for the benchmarks."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))


def build(text, folder, sizes, *options):
    """Compiles the text for these extents with `fact kernel build`; `fact.kernel(folder)` runs it."""
    folder = Path(folder)
    source = folder.with_name(folder.name + ".fact")
    source.write_text(text)
    program = os.environ.get("FACT_PROGRAM", str(ROOT / "fact"))
    extents = ",".join(f"{name}={extent}" for name, extent in sizes.items())
    done = subprocess.run(
        [program, "kernel", "build", source, "--set", extents, "-o", folder, *options],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{source.name} does not build:\n{done.stderr}")
    return folder
