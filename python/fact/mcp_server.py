"""The MCP server over standard input and output: `fact mcp`, or `python -m fact.mcp_server`.

The tools are the actions of `fact act --list`, and whole runs; the server only passes requests to
`fact`.
"""

import asyncio
import json
import os
import re
import signal
import sys
import urllib.parse
from pathlib import Path

try:
    import jsonschema
    import mcp_types as types  # comes with mcp 2.0, not with older versions
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp.shared.exceptions import MCPError
except ImportError as missing:
    print(f"error: the MCP server needs the package mcp, 2.0 or newer ({missing})\n"
          f"  pip install mcp    (into {sys.executable})", file=sys.stderr)
    sys.exit(2)

from fact._mcp_work import ROOT, Child, Processes, Refused, actions

LANGUAGE = "fact://language"
RUNS = "fact://runs/"
RUN_FILES = {"report.json": "application/json", "report.txt": "text/plain", "discovery.json": "application/json"}
LONGEST_WAIT = 60  # seconds; clients give up on a call that takes much longer

INSTRUCTIONS = f"""FACT fuses parts of a PyTorch module into CUTLASS kernels that are proved against torch.
optimize_start does all of it by rules, in the background; look, patterns and propose show what is left, write takes
a kernel text for it, compose makes the package. Paths are best absolute. The kernel language is the resource
{LANGUAGE} and the file {ROOT / "docs" / "language.md"}."""

RUN = {"type": "string", "description": "The run folder"}
HANDLE = {"type": "string", "description": "The handle that optimize_start returned"}


def tool(name, description, properties, required, **hints):
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return types.Tool(name=name, description=description, input_schema=schema,
                      annotations=types.ToolAnnotations(**hints) if hints else None)


OWN_TOOLS = [
    tool("optimize_start", "Starts `fact optimize`: all stages, in the background. Gives a handle at once", {
        "source": {"type": "string", "description": "FILE.py with Model, get_inputs and get_init_inputs, or "
                                                    "package.module:factory"},
        "run": {"type": "string", "description": "Folder for the files of the run; the same one continues it"},
        "dtype": {"enum": ["bf16", "fp16"], "description": "Cast the module first"},
        "output": {"type": "string", "description": "Package folder (default: package/ in the run folder)"},
        "effort": {"type": "string", "description": "quick, normal, max, or the number of candidates per kernel"},
        "budget": {"type": "string", "description": "For all searches together, such as 90s or 10m"},
        "training": {"type": "boolean", "description": "Trace the module in training mode"},
        "allow_tf32": {"type": "boolean", "description": "Products of f32 may be rounded to TF32"},
        "bench": {"type": "boolean", "description": "Time the whole module at the end (default: true)"},
    }, ["source", "run"]),
    tool("optimize_status", "Whether a run is at work, and its last line of progress; or its report", {
        "handle": HANDLE,
        "wait": {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT,
                 "description": "Seconds to wait for its end before answering"},
    }, ["handle"], read_only_hint=True),
    tool("optimize_cancel", "Ends a run; the same optimize_start continues it", {"handle": HANDLE}, ["handle"]),
]

PROMPTS = {
    "optimize_module": ("mcp_optimize.md", types.Prompt(
        name="optimize_module", title="Optimize a module", description="From a module to a package, step by step",
        arguments=[types.PromptArgument(name="source", description="The module's file", required=True),
                   types.PromptArgument(name="run", description="The run folder", required=True),
                   types.PromptArgument(name="dtype", description="bf16 or fp16: cast the module first")])),
    "write_kernel": ("mcp_write.md", types.Prompt(
        name="write_kernel", title="Write a kernel for a proposal", description="With the language, until accepted",
        arguments=[types.PromptArgument(name="run", description="The run folder", required=True),
                   types.PromptArgument(name="proposal", description="The name that propose gave it", required=True)])),
}


def optimize_arguments(given):
    """The command line; values follow an equals sign, so that none is mistaken for an option."""
    words = [f"--{name}={given[name]}" for name in ("dtype", "effort", "budget") if given.get(name)]
    if given.get("output"):
        words.append(f"--output={os.path.abspath(given['output'])}")
    words += [f"--{name.replace('_', '-')}" for name in ("training", "allow_tf32") if given.get(name)]
    if given.get("bench") is False:
        words.append("--no-bench")
    return [*words, "--", given["source"]]


def answer(reply, failed=False):
    return types.CallToolResult(content=[types.TextContent(type="text", text=json.dumps(reply))],
                                structured_content=reply, is_error=failed)


def bad_request(text):
    return MCPError(types.INVALID_PARAMS, text)


def language():
    return (ROOT / "docs" / "language.md").read_text()


def read_resource(uri):
    """Text and type of a resource: the language, or one of three files of a run folder, and nothing else."""
    if uri == LANGUAGE:
        return language(), "text/markdown"
    if not uri.startswith(RUNS):
        raise bad_request(f"there is no resource {uri}")
    run, _, name = urllib.parse.unquote(uri[len(RUNS):]).rpartition("/")
    run = Path(run)
    if name not in RUN_FILES or ".." in run.parts or not run.is_absolute():
        raise bad_request(f"a resource of a run is {RUNS}{{its absolute folder, percent-encoded}}/ and one of "
                  f"{', '.join(RUN_FILES)}")
    file = (run / name).resolve()
    if not (run / "run.json").is_file() or file.parent != run.resolve() or not file.is_file():
        raise bad_request(f"{run} is not a run folder that has {name}")
    return file.read_text(), RUN_FILES[name]


def prompt(name, arguments):
    if name not in PROMPTS:
        raise bad_request(f"there is no prompt '{name}': {', '.join(PROMPTS)}")
    file, listed = PROMPTS[name]
    for one in listed.arguments:
        if one.required and not arguments.get(one.name):
            raise bad_request(f"the prompt {name} needs {one.name}")
    dtype = f", dtype {arguments['dtype']}" if arguments.get("dtype") else ""
    values = {**arguments, "dtype": dtype, "language": language()}
    text = (ROOT / "prompts" / file).read_text()
    return listed.description, re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], text)


class Tools:
    def __init__(self):
        self.processes = Processes()
        self.actions = {one["name"]: one for one in actions()}
        self.listed = [self._action(one) for one in self.actions.values()] + OWN_TOOLS
        self.schemas = {one.name: one.input_schema for one in self.listed}

    @staticmethod
    def _action(action):
        request = action["request"]
        schema = {**request, "properties": {"run": RUN, **request.get("properties", {})},
                  "required": ["run", *request.get("required", [])]}
        return types.Tool(name=action["name"], description=action["summary"], input_schema=schema)

    async def call(self, name, arguments, report):
        if name not in self.schemas:
            raise Refused(f"there is no tool '{name}': {', '.join(self.schemas)}")
        mistakes = jsonschema.Draft202012Validator(self.schemas[name]).iter_errors(arguments)
        if mistake := jsonschema.exceptions.best_match(mistakes):
            where = ".".join(map(str, mistake.absolute_path))
            raise Refused(f"{where + ': ' if where else ''}{mistake.message}")
        if name in self.actions:
            request = {key: value for key, value in arguments.items() if key != "run"}
            reply = await self.processes.act(arguments["run"], name, request, report)
            if not reply["ok"]:
                raise Refused(reply["error"], reply)
            return reply
        if name == "optimize_start":
            return await self.processes.start(arguments["run"], optimize_arguments(arguments))
        optimization = self.processes.find(arguments["handle"])
        if name == "optimize_cancel":
            await optimization.cancel()
        else:
            await optimization.wait(arguments.get("wait", 0), report)
        return await optimization.status()


def make_server(tools):
    async def list_tools(_context, _params):
        return types.ListToolsResult(tools=tools.listed)

    async def call_tool(context, params):
        try:
            return answer(await tools.call(params.name, params.arguments or {}, context.session.report_progress))
        except Refused as why:
            return answer(why.reply or {"ok": False, "error": str(why)}, failed=True)
        except (OSError, ValueError) as why:
            return answer({"ok": False, "error": f"{type(why).__name__}: {why}"}, failed=True)

    async def list_resources(_context, _params):
        listed = types.Resource(name="language", title="The kernel language", uri=LANGUAGE, mime_type="text/markdown")
        return types.ListResourcesResult(resources=[listed])

    async def list_templates(_context, _params):
        listed = types.ResourceTemplate(
            name="run_file", title="A file of a run", uri_template=RUNS + "{run}/{file}",
            description=f"run: its absolute folder, percent-encoded; file: {', '.join(RUN_FILES)}")
        return types.ListResourceTemplatesResult(resource_templates=[listed])

    async def read(_context, params):
        text, kind = read_resource(str(params.uri))
        contents = types.TextResourceContents(uri=params.uri, mime_type=kind, text=text)
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(_context, _params):
        return types.ListPromptsResult(prompts=[one for _, one in PROMPTS.values()])

    async def get_prompt(_context, params):
        description, text = prompt(params.name, params.arguments or {})
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description=description, messages=[message])

    return Server("fact", title="FACT", instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool,
                  on_list_resources=list_resources, on_list_resource_templates=list_templates,
                  on_read_resource=read, on_list_prompts=list_prompts, on_get_prompt=get_prompt)


def end_on_signal(number):
    """Also ends the processes that were started: the signal does not reach their groups."""
    for child in list(Child.running):
        child.signal(signal.SIGTERM)
    os._exit(128 + number)


async def serve():
    tools = Tools()
    server = make_server(tools)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, end_on_signal, number)
    try:
        async with stdio_server() as (received, sent):
            await server.run(received, sent, server.create_initialization_options())
    finally:
        await tools.processes.close()


def main():
    try:
        asyncio.run(serve())
    except (Refused, OSError) as why:
        print(f"error: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
