"""From a user's module to an archive: `python -m fact.trace SPEC -o model.pt2`.

SPEC is FILE.py (a file with `Model`, `get_inputs()` and `get_init_inputs()`) or
package.module:factory (a function that returns (module, inputs)).
"""

import argparse
import contextlib
import hashlib
import importlib
import importlib.util
import io
import json
import linecache
import logging
import os
import sys
import sysconfig
import tempfile
import traceback
import warnings
from pathlib import Path

SEED = 0
DTYPES = {"bf16": "bfloat16", "fp16": "float16", "f16": "float16", "fp32": "float32", "f32": "float32"}


class BadInput(Exception):
    """Something in what the user gave; its text is all the user sees."""


def load_model(spec, dtype=None, device=None):
    """The module (in eval mode) and the list of its inputs; the same values on every call."""
    import torch

    build = _factory(spec) if ":" in spec and not os.path.exists(spec) else _from_file(spec)
    with torch.no_grad():
        module, inputs = _user_code(spec, build)
    if not isinstance(module, torch.nn.Module):
        raise BadInput(f"{spec}: expected a torch.nn.Module, got {type(module).__name__}")
    if isinstance(inputs, torch.Tensor):
        inputs = [inputs]
    inputs = list(inputs)
    if dtype is not None:
        kind = getattr(torch, DTYPES[dtype])
        module = module.to(kind)
        inputs = [_map(x, lambda t: t.to(kind) if t.is_floating_point() else t) for x in inputs]
    if device is not None:
        module = module.to(device)
        inputs = [_map(x, lambda t: t.to(device)) for x in inputs]
    return module.eval(), inputs


def export(module, inputs):
    """The exported program: functional, with composite operators kept whole."""
    import torch

    with torch.no_grad():
        program = torch.export.export(module, tuple(inputs))
        return program.run_decompositions({})


def save(program, path):
    """Writes the archive without the example inputs, which nobody reads back."""
    import torch

    program._example_inputs = None
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # torch names the archive's root after the file, so the temporary part is a folder.
    with tempfile.TemporaryDirectory(prefix=".trace-", dir=path.parent) as folder:
        temporary = Path(folder) / path.name
        torch.export.save(program, str(temporary))
        os.replace(temporary, path)


def user_files():
    """Every source file of the user's that was imported: path -> digest."""
    library = [sysconfig.get_paths()[key] for key in ("stdlib", "purelib", "platlib")]
    library.append(str(Path(__file__).parent))
    found = {}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not file or not file.endswith(".py"):
            continue
        file = os.path.abspath(file)
        if any(file.startswith(folder + os.sep) for folder in library) or not os.path.exists(file):
            continue
        if "site-packages" in file or "dist-packages" in file:
            continue
        found[file] = hashlib.sha256(Path(file).read_bytes()).hexdigest()
    return dict(sorted(found.items()))


def _map(value, change):
    import torch

    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_map(v, change) for v in value)
    if isinstance(value, dict):
        return {key: _map(v, change) for key, v in value.items()}
    return value


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
        named = {}
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
    except SyntaxError as error:
        raise BadInput(f"{_short(error.filename)}:{error.lineno}: {error.msg}") from None
    except BaseException as error:
        raise BadInput(_blame(spec, error, "failed")) from None


def _short(file):
    relative = os.path.relpath(file) if file else "?"
    return file if relative.startswith("..") else relative


def _blame(spec, error, what):
    """The user's own line and the reason, in a few lines."""
    library = (os.path.dirname(os.__file__), str(Path(__file__).parent), "<")
    mine = None
    for frame in traceback.extract_tb(error.__traceback__):
        outside = "site-packages" in frame.filename or "dist-packages" in frame.filename
        if not outside and not frame.filename.startswith(library):
            mine = frame
    reason = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = f"{type(error).__name__}: {reason[0]}" if reason else type(error).__name__
    if mine is None:
        return f"{spec}: {what}: {_clip(text)}"
    code = (mine.line or linecache.getline(mine.filename, mine.lineno)).strip()
    return f"{_short(mine.filename)}:{mine.lineno}: {what}: {_clip(text)}\n  {code}"


def _clip(text, width=400):
    return text if len(text) <= width else text[: width - 3] + "..."


def _quiet():
    warnings.filterwarnings("ignore")
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    logging.disable(logging.WARNING)


def _trace(options):
    import torch

    module, inputs = load_model(options.spec, options.dtype, options.device)
    try:
        # On failure torch prints the half-made graph: only its reason is worth showing.
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            program = export(module, inputs)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise BadInput(_blame(options.spec, error, "torch cannot export this")) from None
    save(program, options.output)
    if options.sources:
        listing = {"torch": torch.__version__, "files": user_files()}
        temporary = Path(f"{options.sources}.{os.getpid()}.tmp")
        temporary.write_text(json.dumps(listing, indent=1) + "\n")
        os.replace(temporary, options.sources)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="fact trace", description="Export a module.")
    parser.add_argument("spec", help="FILE.py or package.module:factory")
    parser.add_argument("-o", "--output", default="model.pt2", help="archive to write")
    parser.add_argument("--dtype", choices=sorted(DTYPES), help="cast the module first")
    parser.add_argument("--device", default="cpu", help="where to export (cpu)")
    parser.add_argument("--sources", help="also list the user's source files here, as JSON")
    options = parser.parse_args(arguments)
    _quiet()
    try:
        _trace(options)
    except BadInput as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: {error.strerror}: {error.filename}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
