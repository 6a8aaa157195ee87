"""Reports failures in the user's own code in full: where, what was raised, and its cause."""

import linecache
import os
import textwrap
import traceback

from fact._watch import is_library

# After a longer message the reader is referred to --verbose.
FEW_LINES, FEW_CHARACTERS = 8, 2000
HINT = "--verbose shows all of it, with the traceback"


def blame(spec, error, what):
    """The user's own line, what was raised with its whole message, and its causes."""
    lines = []
    for step, (how, link) in enumerate(_chain(error)):
        place, code = _users_line(link)
        head = f"{place or spec}: {what}: " if step == 0 else f"  {how} " + (f"{place}: " if place else "")
        first, *rest = reason(link).split("\n")
        indent = "    " if step == 0 else "      "
        lines.append(head + first)
        lines += [(indent + line).rstrip() for line in rest]
        if code:
            lines.append(indent[2:] + code)
    if len(lines) > FEW_LINES or sum(map(len, lines)) > FEW_CHARACTERS:
        lines.append("  --verbose adds the traceback")
    return "\n".join(lines)


def reason(error):
    """The type and the whole message, with its notes and, of an exception group, its parts."""
    try:
        message = str(error).strip("\n")
    except Exception:  # the user's own __str__
        message = "(its message cannot be shown)"
    name = type(error).__name__
    parts = [f"{name}: {message}" if message.strip() else name]
    parts += [str(note) for note in getattr(error, "__notes__", ())]
    for inner in getattr(error, "exceptions", None) or ():
        if isinstance(inner, BaseException):
            parts.append(textwrap.indent(reason(inner), "  "))
    return "\n".join(parts)


def one_line(error, width=600):
    """The user's line and the whole reason, on one line."""
    place, _ = _users_line(error)
    text = (f"{place}: " if place else "") + " ".join(reason(error).split())
    return text if len(text) <= width else f"{text[:width].rstrip()} ... ({HINT})"


def _users_line(error):
    """The innermost line outside of libraries, as "model.py:12" and its code; empty if there is none."""
    innermost = None
    for frame in traceback.extract_tb(error.__traceback__):
        if not is_library(frame.filename):
            innermost = frame
    if innermost is None:
        return "", ""
    code = (innermost.line or linecache.getline(innermost.filename, innermost.lineno)).strip()
    return f"{short(innermost.filename)}:{innermost.lineno}", code


def short(file):
    """The path relative to the current folder, if the file is in it."""
    relative = os.path.relpath(file) if file else "?"
    return file if relative.startswith("..") else relative


def _chain(error):
    """What was raised and its causes, each with how they are related."""
    how, seen = "", set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield how, error
        if error.__cause__ is not None:
            how, error = "caused by", error.__cause__
        elif error.__context__ is not None and not error.__suppress_context__:
            how, error = "raised while handling", error.__context__
        else:
            return
