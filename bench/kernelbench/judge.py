"""What KernelBench's own evaluator says of a solution, as JSON.

    python bench/kernelbench/judge.py CHECKOUT PROBLEM.py NEW.py VERDICT.json

The evaluator is src/kernelbench/eval.py of the checkout, unchanged, with the numbers of trials that
KernelBench's own scripts use. It seeds, builds Model and ModelNew, compares their results and times
both. The verdict says whether NEW.py compiled and was correct, and how much faster than the
reference it was; `why` says what was wrong, or why there is no verdict. No other run uses the GPU
while it times.
"""

import copy
import importlib.util
import json
import sys
import types
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

TRIALS = {"num_correct_trials": 5, "num_perf_trials": 100, "measure_performance": True}
# Of the evaluator's metadata, what says why a solution is not right; the first that is there counts.
REASONS = ("compilation_error", "runtime_error", "correctness_issue", "error_during_performance")
MOST_LETTERS = 500  # of a reason


def unavailable(*_, **__):
    raise ImportError("this library is not installed")


class Fields:
    """Stands in for pydantic's BaseModel: the evaluator's result is a class of fields with defaults."""

    def __init__(self, **values):
        for name in type(self).__annotations__:
            setattr(self, name, values.get(name, copy.copy(getattr(type(self), name, None))))


# The evaluator's files import these to ask language models, to show progress and to check types. Judging
# can do without.
UNUSED = {
    "dotenv": {"load_dotenv": lambda: None},  # called when the evaluator is imported
    "litellm": {"completion": unavailable},
    "openai": {"OpenAI": unavailable},
    "pydantic": {"BaseModel": Fields},
    "requests": {},
    "tqdm": {"tqdm": unavailable},
}


def stand_in():
    """Puts empty modules in place of those of UNUSED that are not installed; returns their names."""
    missing = [name for name in UNUSED if importlib.util.find_spec(name) is None]
    for name in missing:
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(UNUSED[name])
    return missing


def verdict_of(result, fallbacks):
    """The evaluator's result as plain JSON; its times are milliseconds."""
    if result is None:  # it takes a missing file for a lock, and asks to try again
        return {"compiled": False, "correct": False, "why": "the evaluator gave no result: see its log"}
    verdict = {
        "compiled": bool(result.compiled),
        "correct": bool(result.correctness),
        "trials": result.metadata.get("correctness_trials"),
    }
    if result.correctness and result.runtime > 0:
        verdict["ms"] = result.runtime
        if result.ref_runtime > 0:
            verdict["reference_ms"] = result.ref_runtime
            verdict["speedup"] = result.ref_runtime / result.runtime
    if result.metadata.get("excessive_speedup"):
        verdict["excessive"] = True
    for name in REASONS:
        if name in result.metadata:
            verdict["why"] = str(result.metadata[name])[:MOST_LETTERS]
            break
    # Where torch's operators ran in place of a kernel, the verdict is on torch.
    if fallbacks:
        verdict["fallbacks"] = fallbacks
    return verdict


def failed(error):
    """The verdict where the evaluator raises: KernelBench's scripts count that as not compiled."""
    import torch

    why = {"why": f"the evaluator failed: {type(error).__name__}: {error}"[:MOST_LETTERS]}
    return {"compiled": False, "correct": False, **why} if torch.cuda.is_available() else why


def make_inputs_aside(evaluator, turn, memory):
    """Problems make their inputs on the CPU, for seconds where they are large: others may use the GPU
    meanwhile. What the evaluator gets is the same. Before it gets the first ones, `memory` waits for
    room for them."""
    load = getattr(evaluator, "load_original_model_and_inputs", None)
    if load is None:
        return

    from fact._gpu_memory import TIMED

    def loaded(*words, **options):
        found = load(*words, **options)
        if found is None:
            return None
        *others, get_inputs = found
        seen = []

        def inputs():
            with turn.aside():
                made = get_inputs()
                if not seen:
                    memory.take(tensors_in(made), TIMED)
                seen.append(True)
                return made

        return (*others, inputs)

    evaluator.load_original_model_and_inputs = loaded


def tensors_in(values):
    import torch

    return [value for value in values if isinstance(value, torch.Tensor)]


def times_apart(evaluator):
    """Whether time_alone can tell the evaluator's timing from the rest."""
    return hasattr(getattr(evaluator, "timing", None), "get_timing_function")


def time_alone(evaluator, turn):
    """The evaluator times alone, and compares results while others use the GPU too."""
    choose = evaluator.timing.get_timing_function

    def chosen(*words, **options):
        measure = choose(*words, **options)

        def measured(*inputs, **how):
            with turn.alone():
                return measure(*inputs, **how)

        return measured

    evaluator.timing.get_timing_function = chosen


def judge(checkout, problem, solution):
    sys.path.insert(0, str(Path(checkout) / "src"))
    missing = stand_in()
    try:
        from kernelbench import eval as evaluator
    except ImportError as error:
        return {"why": f"the evaluator cannot be imported: {error}"}
    from fact._gpu_lock import EXCLUSIVE, SHARED
    from fact._gpu_memory import Memory
    from fact._turn import Turn

    apart = times_apart(evaluator)
    turn, memory = Turn(what="evaluator", kind=SHARED if apart else EXCLUSIVE), Memory(what="evaluator")
    make_inputs_aside(evaluator, turn, memory)
    if apart:
        time_alone(evaluator, turn)
    with memory, turn, warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        try:
            result = evaluator.eval_kernel_against_ref(
                Path(problem).read_text(), Path(solution).read_text(), **TRIALS
            )
        except Exception as error:  # the evaluator lets most errors of a solution's constructor through
            return failed(error)
    fallbacks = [str(one.message) for one in raised if one.category.__name__ == "FallbackWarning"]
    return verdict_of(result, fallbacks) | ({"without": missing} if missing else {})


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__.strip())
    *what, path = sys.argv[1:]
    Path(path).write_text(json.dumps(judge(*what), indent=1) + "\n")


if __name__ == "__main__":
    main()
