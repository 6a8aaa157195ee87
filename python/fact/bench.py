"""Original, torch.compile and composed side by side: `python -m fact.bench PACKAGE --source SPEC`.

Times are taken in turns in one process, on the same inputs, under the precision settings that the
source leaves in torch; errors are against the original in f64. Without a GPU only the results are
compared.
"""

import argparse
import contextlib
import datetime
import json
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path

import torch

from fact import _precision, _timing
from fact._blame import one_line
from fact._casts import Narrower
from fact._compare import DIFFERENT, WRONG, agrees, errors, worst  # noqa: F401
from fact._eager import MOST_INTERPRETED_FLOPS, Buffers, call, flops, repeats, tensors_of
from fact._errors import BadInput, print_error
from fact._exact import exact_results, fits_in_f64, own_casts
from fact._files import write_failure, write_text
from fact._gpu_memory import COMPARED, TIMED, Memory
from fact._status import fallback_notes, fallbacks
from fact._turn import Turn, compiling_aside
from fact.package import declared_namespaces, load, needs_weights
from fact.trace import DTYPES, load_model, to_device

# What torch itself can make of the module: `--peers` names them.
COMPILED = {
    "torch.compile": {},
    "max-autotune": {"mode": "max-autotune"},
    "max-autotune without graphs": {"mode": "max-autotune-no-cudagraphs"},
}
GRAPHED = ("max-autotune",)  # uses CUDA graphs by itself and cannot be captured into another
PEERS = {"default": ["torch.compile"], "all": list(COMPILED)}
EXPORTED = "exported graph"
SLOWER = 1.05  # times the module's time: more than measurements differ anyway


def measure_on_gpu(rows, works, brief):
    """Adds memory and times to every row that does not say why it cannot be measured."""
    works = {name: work for name, work in works.items() if "why" not in rows[name]}
    names = list(works)
    for name in names:
        rows[name]["peak_bytes"] = _timing.peak_bytes(works[name])
    for name, timing in zip(names, _timing.single(list(works.values()), brief=brief)):
        rows[name]["single"] = timing
    if brief:
        return
    repeated = []
    for name in names:
        again = _timing.Repeatable(works[name], "its own CUDA graph")
        if name not in GRAPHED:
            again = _timing.repeatable(works[name])
        rows[name]["sustained_of"] = again.how
        if again.refused:
            rows[name]["replay"] = again.refused
        repeated.append(again.work)
    for name, timing in zip(names, _timing.sustained(repeated)):
        rows[name]["sustained"] = timing


def time_notes(rows):
    """Notes that are needed to interpret the times."""
    notes = []
    eager, exported = rows["eager"], rows.get(EXPORTED, {})
    if eager.get("replay"):
        notes.append(
            f"captured as a CUDA graph the module takes {_ms(eager['replay'])} where a call takes "
            f"{_ms(eager['single'])}, so its sustained time is that of calls"
        )
    if exported.get("single") and (
        exported["single"]["median_us"] > SLOWER * eager["single"]["median_us"]
    ):
        notes.append(
            f"torch.export's graph of the module takes {_ms(exported['single'])} where the module takes "
            f"{_ms(eager['single'])}: the module runs other operators, so what patterns gain over "
            "the exported operators is not what the module gains"
        )
    peak = {name: row["peak_bytes"] for name, row in rows.items() if "peak_bytes" in row}
    if peak["composed"] > peak["eager"]:
        notes.append(
            f"the composed module needs {peak['composed'] / 2**20:.0f} MiB in addition to its weights, "
            f"eager {peak['eager'] / 2**20:.0f} MiB"
        )
    return notes


def _is_gpu(device):
    return torch.device(device).type == "cuda"


def _ms(timing):
    return f"{timing['median_us'] / 1e3:.3g} ms"


def modules_of(package, module, device, peers, brief):
    """What is compared, by row name; without a GPU there are no peers. `brief` leaves out torch.export's
    graph."""
    # If the package has its own weights they are used, so that they are checked, too.
    weights = module if needs_weights(package) else None
    archive = Path(package) / "model.pt2"
    allow = declared_namespaces(package)
    found = {"eager": module}
    if archive.exists() and not brief:
        found[EXPORTED] = load(archive, weights=module, allow=allow).to(device)
    for name in peers:
        found[name] = torch.compile(module, **COMPILED[name]) if _is_gpu(device) else None
    return {**found, "composed": load(package, weights, allow=allow).to(device)}


def run(
    package, source, dtype=None, device=None, allow_tf32=False, training=False, peers=("torch.compile",), brief=False
):
    """The benchmark's result, as it is written to JSON. torch's precision settings are those that the
    source leaves; `allow_tf32` allows TF32 whatever they are. `brief`: single calls only, and not of
    torch.export's graph."""
    with _precision.restored():
        return _run(package, source, dtype, device, allow_tf32, training, peers, brief)


def _run(package, source, dtype, device, allow_tf32, training, peers, brief):
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    made = load_model(source, dtype, training=training)
    if allow_tf32:
        _precision.allow_tf32()
    if _is_gpu(device) and peers:
        # It takes seconds, in which others may have the GPU; a failure is the peers' own.
        with contextlib.suppress(Exception):
            from torch._inductor import compile_fx  # noqa: F401
    with Memory(device, "bench") as memory, Turn(device, "bench") as turn:
        made = to_device(source, *made, device)
        return _measured(package, source, *made, dtype, device, allow_tf32, peers, brief, turn, memory)


def compile_peers(works, turn):
    """Compiles what has to be compiled: without the GPU, unless kernels are timed meanwhile. A failure is
    the peer's own, and its row says it."""
    for name, work in works.items():
        if name in COMPILED:
            with contextlib.suppress(Exception), turn.alone() if COMPILED[name] else compiling_aside(turn):
                work()


def _measured(package, source, module, inputs, dtype, device, allow_tf32, peers, brief, turn, memory):
    on_gpu = _is_gpu(device)
    settings = _precision.recorded()
    modules = modules_of(package, module, device, peers, brief)
    turn.rest()
    works = {name: lambda m=m: m(*inputs) for name, m in modules.items()}
    rows = {name: {"name": name} for name in works}
    notes = []
    if not on_gpu:
        for name in peers:
            rows[name]["why"] = "no GPU: not measured"
        notes.append("no GPU: times are not measured")
        if flops(module, inputs) > MOST_INTERPRETED_FLOPS:
            for name in ("eager", EXPORTED, "composed"):
                rows.get(name, {})["why"] = "too large to interpret on a CPU: not run"
            notes.append("the module is too large to compare the results on a CPU")
    compared = "why" not in rows["eager"]
    buffers = Buffers(module)
    if on_gpu:
        compile_peers(works, turn)
        buffers.restore()
        tensors = [*module.parameters(), *module.buffers(), *tensors_of(inputs)]
        with turn.aside():
            memory.take(tensors, COMPARED)
    if compared and not repeats(lambda: call(module, inputs, source), buffers):
        compared = False
        notes.append("the module draws random numbers: its results are not compared")
    if compared and on_gpu and not fits_in_f64(module, torch.cuda.mem_get_info()[0]):
        compared = False
        notes.append(
            "a copy of the module in f64 does not fit into the GPU's memory, so that only its "
            "patterns were checked, not the whole"
        )
    exact, narrower = [], Narrower()
    if compared:
        try:
            turn.rest()
            exact = exact_results(module, inputs, narrower)
            turn.rest()
        except Exception as failure:  # the module may name a dtype itself
            compared = False
            notes.append(
                "the module does not run in f64, so that only its patterns were checked, not the whole: "
                + one_line(failure)
            )
    eager = []
    export_differs = False  # whether torch.export's graph, without kernels, gives other results
    found = {}  # the errors of a row's results, by its name
    for name, row in rows.items():
        if "why" in row:
            continue
        try:
            results = tensors_of(works[name]())
        except Exception as failure:  # torch raises many kinds; the other rows still count
            if name in ("eager", "composed"):
                raise
            row["why"] = f"it fails: {one_line(failure)}"
            continue
        if compared:
            found[name] = errors(exact, results)
            row["errors"] = worst(found[name])
        if name == "eager":
            eager = results
        if name == EXPORTED and compared:
            export_differs = worst(errors(eager, results))["largest"] > DIFFERENT
        buffers.restore()
        turn.rest()
    del exact
    if on_gpu:
        torch.cuda.empty_cache()  # frees the memory of the f64 module for the others
        memory.keep(tensors, TIMED)
    dtypes = [result.dtype for result in eager]
    good = "composed" not in found or agrees(found["composed"], found["eager"], dtypes)
    if not good and export_differs:
        notes.append(
            "torch.export's graph of the module gives other results than the module does: if the "
            "cause is torch's fast path for transformer layers, torch.backends.mha.set_fastpath_enabled(False) "
            "in the source makes the two the same"
        )
    elif "errors" in rows["composed"]:
        notes.append(
            f"against f64{own_casts(narrower)} the composed module's error"
            f"{'' if on_gpu else ' (its kernels interpreted)'} is "
            f"{rows['composed']['errors']['largest']:.2g}, "
            f"eager's {rows['eager']['errors']['largest']:.2g}"
            + ("" if good else ": TOO LARGE, do not use this package")
        )
    if on_gpu:
        with turn.alone():
            measure_on_gpu(rows, works, brief)
        notes += time_notes(rows)
    fell_back = fallbacks(modules["composed"])
    notes += fallback_notes(fell_back)
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": _commit(),
        "versions": {
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "python": platform.python_version(),
        },
        "gpu": torch.cuda.get_device_name() if on_gpu else None,
        "command": shlex.join(sys.argv),
        "source": source,
        "dtype": dtype,
        "allow_tf32": allow_tf32,
        "precision": settings,
        "agrees": good if "composed" in found else None,
        "fallbacks": fell_back,
        "note": "; ".join(notes),
        "rows": list(rows.values()),
    }


def _commit():
    """FACT's own commit: FACT_COMMIT for a copy without history; None if it is not known."""
    if os.environ.get("FACT_COMMIT"):
        return os.environ["FACT_COMMIT"]
    folder = Path(__file__).resolve().parent
    try:
        answer = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()


def table(result):
    """The result for people."""

    def time_text(timing):
        if not timing or not timing["runs"]:
            return "-"
        return "{:.3f} ms ({:.3f}..{:.3f}, n={})".format(
            timing["median_us"] / 1e3, timing["low_us"] / 1e3, timing["high_us"] / 1e3, timing["runs"]
        )

    def ratio(row, key):
        base = result["rows"][0].get(key)
        if not row.get(key) or not base or not row[key]["median_us"]:
            return "-"
        return f"{base['median_us'] / row[key]['median_us']:.2f}x"

    lines = [["", "single", "", "sustained", "", "error", "peak memory"]]
    for row in result["rows"]:
        if "why" in row:
            lines.append([row["name"], row["why"], "", "", "", "", ""])
            continue
        lines.append(
            [
                row["name"],
                time_text(row.get("single")),
                ratio(row, "single"),
                time_text(row.get("sustained")),
                ratio(row, "sustained"),
                f"{row['errors']['largest']:.2g}" if "errors" in row else "-",
                f"{row['peak_bytes'] / 2**20:.0f} MiB" if "peak_bytes" in row else "-",
            ]
        )
    # A reason may be long: it has its own line and does not affect column widths.
    measured = [line for line in lines if line[-1]]
    widths = [max(len(line[i]) for line in measured) for i in range(len(lines[0]))]
    widths[0] = max(len(line[0]) for line in lines)
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
    return "\n".join(text + ([result["note"]] if result["note"] else []))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="fact bench", description="Compare a package.")
    parser.add_argument("package", help="package folder")
    parser.add_argument("--source", required=True, help="FILE.py or package.module:factory")
    parser.add_argument("--dtype", choices=sorted(DTYPES), help="as the package was made with")
    parser.add_argument("--device", help="default: cuda if available, else cpu")
    parser.add_argument(
        "--allow-tf32", action="store_true", help="also for the original, whatever the source sets"
    )
    parser.add_argument("--training", action="store_true", help="as the package was made with")
    parser.add_argument(
        "--peers",
        choices=sorted(PEERS),
        default="default",
        help="default: also compare with torch.compile; all: and with its max-autotune, with and "
        "without CUDA graphs",
    )
    parser.add_argument(
        "--brief", action="store_true", help="times of single calls only, and not of torch.export's graph"
    )
    parser.add_argument("--json", help="also write the result here")
    parser.add_argument("--verbose", action="store_true", help="show tracebacks")
    options = parser.parse_args(arguments)
    try:
        with torch.no_grad():
            result = run(
                options.package,
                options.source,
                options.dtype,
                options.device,
                options.allow_tf32,
                options.training,
                PEERS[options.peers],
                options.brief,
            )
    except BadInput as error:
        print_error(error, options.verbose)
        return 2
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # raised by the package or the module
        if options.verbose:
            raise
        print(f"error: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print(table(result))
    if options.json:
        try:
            write_text(options.json, json.dumps(result, indent=1) + "\n")
        except OSError as error:
            print(f"error: {write_failure(error)}", file=sys.stderr)
            return 2
    return 1 if result["agrees"] is False else 0


if __name__ == "__main__":
    sys.exit(main())
