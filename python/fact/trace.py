"""From a user's module to an archive: `python -m fact.trace SPEC -o model.pt2`.

SPEC is FILE.py (a file with `Model`, `get_inputs()` and `get_init_inputs()`) or
package.module:factory (a function that returns (module, inputs)).
"""

import argparse
import contextlib
import importlib
import importlib.util
import io
import json
import logging
import os
import sys
import warnings
from pathlib import Path

from fact._blame import blame, short
from fact._errors import BadInput, print_error
from fact._files import Sink, replacing, write_failure, write_text
from fact._watch import Watch

SEED = 0
# The element types of weights that a package can hold: those of src/target/dtype.h.
WEIGHT_TYPES = set("bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split())
DTYPES = {"bf16": "bfloat16", "fp16": "float16", "f16": "float16", "fp32": "float32", "f32": "float32"}


def load_model(spec, dtype=None, device=None, training=False, hollow=False):
    """The module (in eval mode unless `training`) and the list of its inputs; the same values on
    every call. With `hollow`, its parameters are allocated but never written, which costs no
    memory."""
    import torch

    build = _factory(spec) if ":" in spec and not os.path.exists(spec) else _from_file(spec)
    with torch.no_grad():
        module, inputs = _user_code(spec, build)
    if not isinstance(module, torch.nn.Module):
        raise BadInput(f"{spec}: expected a torch.nn.Module, got {type(module).__name__}")
    if isinstance(inputs, torch.Tensor):
        inputs = [inputs]
    if not isinstance(inputs, (list, tuple)):
        raise BadInput(f"{spec}: the inputs must be a list or a tuple, got {type(inputs).__name__}")
    return _user_code(spec, lambda: _placed(module, list(inputs), dtype, device, training, hollow))


def to_device(spec, module, inputs, device):
    """What load_model returned without a device, moved to it: making it may take long, and needs no
    GPU."""
    return _user_code(spec, lambda: _moved(module, inputs, device))


def _placed(module, inputs, dtype, device, training, hollow):
    import torch

    if dtype is not None:
        kind = getattr(torch, DTYPES[dtype])
        module = module.to(kind)
        inputs = [_map(x, lambda t: t.to(kind) if t.is_floating_point() else t) for x in inputs]
    if hollow:
        for parameter in module.parameters():
            # The system allocates no pages for memory that is never written.
            parameter.data = torch.empty_strided(
                parameter.size(), parameter.stride(), dtype=parameter.dtype, device=device or "cpu"
            )
    if device is not None:
        module, inputs = _moved(module, inputs, device)
    return module.train(training), inputs


def _moved(module, inputs, device):
    return module.to(device), [_map(x, lambda t: t.to(device)) for x in inputs]


def export(module, inputs):
    """The exported program: functional, with composite operators kept whole."""
    import torch

    with torch.no_grad():
        program = torch.export.export(module, tuple(inputs))
        return program.run_decompositions({})


def refuse(spec, program):
    """Refuses what the core does not support; here the message can still use the user's own
    names."""
    for name in program.graph_signature.user_inputs_to_mutate.values():
        raise BadInput(
            f"{spec}: the module changes its input '{name}' in place, and a package leaves its "
            f"inputs as they are\n  let forward work on a copy: {name} = {name}.clone()"
        )
    for name, tensor in {**program.state_dict, **program.constants}.items():
        # Constants that are no tensors have no is_complex: bool() gives False for them.
        if getattr(tensor, "is_complex", bool)():
            raise BadInput(
                f"{spec}: '{name}' is {str(tensor.dtype).removeprefix('torch.')}: complex tensors "
                "are not supported\n  keep the real and the imaginary part as two tensors"
            )
        kind = str(getattr(tensor, "dtype", "torch.float32")).removeprefix("torch.")
        if kind not in WEIGHT_TYPES:
            cure = "keep it as one of int8, int16, int32, int64 and uint8"
            if tensor.is_floating_point():
                cure = "cast the module: --dtype bf16, or module.to(torch.bfloat16) in the file"
            raise BadInput(
                f"{spec}: '{name}' is {kind}, which is not a type of weights that a package holds\n"
                f"  {cure}"
            )


def save(program, path, module=None, hollow=False, precision=None):
    """Writes the archive without the example inputs, which nobody reads back.

    If the module is given, the archive also holds the parameters of its forward, the order of its
    state_dict and torch's `precision` settings. The weights of a `hollow` program become one
    element each, repeated: an archive like any other, but small.
    """
    import torch

    from fact._call import describe

    program._example_inputs = None
    extra = {}
    if hollow:
        emptied = {}  # by the original's id: one parameter under two names stays one
        for name, value in program.state_dict.items():
            if isinstance(value, torch.nn.Parameter):
                zeros = torch.zeros((), dtype=value.dtype).expand(value.shape)
                fresh = torch.nn.Parameter(zeros, requires_grad=False)
                program.state_dict[name] = emptied.setdefault(id(value), fresh)
    if module is not None:
        original = {"parameters": describe(module.forward), "state_dict": list(module.state_dict())}
        if precision:
            original["precision"] = precision
        if hollow:
            original["without_weights"] = True
        extra["fact.json"] = json.dumps(original)
    with replacing(path) as file:
        # torch ends the process if a write fails.
        sink = Sink(file)
        torch.export.save(program, sink, extra_files=extra)
        sink.finish()


def _map(value, change):
    import torch
    from torch.utils import _pytree as pytree

    return pytree.tree_map(lambda leaf: change(leaf) if isinstance(leaf, torch.Tensor) else leaf, value)


def _from_file(spec):
    path = Path(spec)
    if not path.exists():
        raise BadInput(
            f"{spec}: no such file\n  give a Python file with Model, get_inputs() and "
            "get_init_inputs(), or package.module:factory"
        )
    if path.is_dir() or path.suffix != ".py":
        raise BadInput(f"{spec}: not a Python file (*.py)")
    import torch

    def build():
        folder = str(path.resolve().parent)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        name = f"fact_user_{path.stem}"
        loader = importlib.util.spec_from_file_location(name, path.resolve())
        source = importlib.util.module_from_spec(loader)
        sys.modules[name] = source
        torch.manual_seed(SEED)
        loader.loader.exec_module(source)
        for wanted in ("Model", "get_inputs"):
            if not hasattr(source, wanted):
                raise BadInput(
                    f"{spec}: has no `{wanted}`\n  the file must define Model (a torch.nn.Module), "
                    "get_inputs() and get_init_inputs()"
                )
        arguments = source.get_init_inputs() if hasattr(source, "get_init_inputs") else []
        if not isinstance(arguments, (list, tuple)):
            raise BadInput(
                f"{spec}: get_init_inputs() must return a list or a tuple of Model's arguments, "
                f"got {type(arguments).__name__}"
            )
        named = {}
        # [[], {...}] means named arguments alone.
        if len(arguments) == 2 and isinstance(arguments[1], dict) and not arguments[0]:
            arguments, named = arguments
        torch.manual_seed(SEED)
        module = source.Model(*arguments, **named)
        torch.manual_seed(SEED + 1)
        return module, source.get_inputs()

    return build


def _factory(spec):
    name, _, attribute = spec.rpartition(":")
    import torch

    def build():
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        try:
            source = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name and (name == error.name or name.startswith(error.name + ".")):
                raise BadInput(f"{spec}: no module named {error.name}") from None
            raise
        if not callable(getattr(source, attribute, None)):
            raise BadInput(f"{spec}: {name} has no function `{attribute}`")
        torch.manual_seed(SEED)
        made = getattr(source, attribute)()
        if not isinstance(made, (tuple, list)) or len(made) != 2:
            raise BadInput(f"{spec}: the factory must return (module, inputs)")
        return made

    return build


def _user_code(spec, build):
    try:
        return build()
    except (BadInput, KeyboardInterrupt):
        raise
    except BaseException as error:
        # A SyntaxError says where it is, except one about a NUL byte, which has no file name.
        if isinstance(error, SyntaxError) and error.filename:
            code = f"\n  {error.text.strip()}" if error.text else ""
            raise BadInput(
                f"{short(error.filename)}:{error.lineno}: {type(error).__name__}: {error.msg}{code}"
            ) from error
        raise BadInput(blame(spec, error, "failed")) from error


def _quiet():
    warnings.filterwarnings("ignore")
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    logging.disable(logging.WARNING)


def _trace(options):
    import torch

    from fact._eager import try_out
    from fact._precision import recorded

    with Watch() as watch:
        module, inputs = load_model(
            options.spec, options.dtype, options.device, options.training, options.without_weights
        )
        precision = recorded()  # as the user's source has left it
        try:
            # On failure torch prints the partial graph: only its reason is worth showing.
            with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
                program = export(module, inputs)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise BadInput(blame(options.spec, error, "torch cannot export this")) from error
    refuse(options.spec, program)
    if not options.without_weights:
        try_out(module, inputs, options.spec)
    try:
        save(program, options.output, module, options.without_weights, precision)
    except NotImplementedError as error:
        # An archive cannot represent named results such as those of torch.max(x, 1).
        raise BadInput(
            blame(options.spec, error, "torch cannot save what the module takes or returns")
            + "\n  let forward take and return tensors, or tuples, lists and dictionaries of them: tuple(x.max(1))"
        ) from error
    if options.sources:
        # torch/version.py changes if another torch is installed in the same environment.
        release = torch.version.__file__
        listing = {
            "torch": torch.__version__,
            "files": {**watch.files(), release: watch.stamp(release)},
            "variables": sorted(watch.variables),
        }
        write_text(options.sources, json.dumps(listing, indent=1) + "\n")


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="fact trace", description="Export a module.")
    parser.add_argument("spec", help="FILE.py or package.module:factory")
    parser.add_argument("-o", "--output", default="model.pt2", help="archive to write")
    parser.add_argument("--dtype", choices=sorted(DTYPES), help="cast the module first")
    parser.add_argument("--device", default="cpu", help="where to export (cpu)")
    parser.add_argument(
        "--training",
        action="store_true",
        help="keep training mode: norms use the batch's statistics, dropout is active",
    )
    parser.add_argument(
        "--without-weights",
        action="store_true",
        help="leave the parameters out of the archive; they are passed when it is loaded",
    )
    parser.add_argument("--verbose", action="store_true", help="show tracebacks")
    parser.add_argument("--sources", help="also write to this file, as JSON, what the module was built from")
    options = parser.parse_args(arguments)
    _quiet()
    try:
        _trace(options)
    except BadInput as error:
        print_error(error, options.verbose)
        return 2
    except OSError as error:
        print(f"error: {write_failure(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
