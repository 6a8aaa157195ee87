"""Which kernels of a package run, and where its weights come from."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Pattern:
    """A part of the graph that has a kernel. The calls are counted since the package was opened."""

    name: str
    kernel: str
    runs: bool  # its kernel can run, and ran in the last call
    reason: str  # why it does not run; "" if it does
    calls: int
    fallbacks: int  # calls in which torch's operators ran instead
    copies: int = 0  # calls whose kernel could not write into a cat, so that its results were copied
    why_copied: str = ""  # why those of the last call were; "" if they were not


@dataclasses.dataclass(frozen=True)
class Status:
    path: str
    device: str
    patterns: list[Pattern]
    weights: dict[str, str]  # by name, when it was loaded: "given" or "stored"

    def __str__(self):
        running = sum(pattern.runs for pattern in self.patterns)
        lines = [f"{self.path} on {self.device}: {running} of {len(self.patterns)} kernels run"]
        width = max((len(pattern.name) for pattern in self.patterns), default=0)
        for pattern in self.patterns:
            state = "runs" if pattern.runs else f"does not run: {pattern.reason}"
            counted = f"{pattern.calls} calls, {pattern.fallbacks} by torch's operators"
            if pattern.copies:
                why = f": {pattern.why_copied}" if pattern.why_copied else ""
                counted += f", {pattern.copies} copied into a cat{why}"
            lines.append(f"  {pattern.name:{width}}  {state} ({counted})")
        for source in ("given", "stored"):
            names = [name for name, own in self.weights.items() if own == source]
            lines.append(f"weights {source}: {len(names)}")
            lines.extend(f"  {name}" for name in names)
        return "\n".join(lines)


def patterns(calls):
    """The Patterns that the operator library describes."""
    found = []
    for call in calls:
        # The reason of the last fallback says more than `cannot_run`: on a CPU no kernel can run.
        reason = call["fell_back"] or call["cannot_run"]
        count = call["by_kernel"] + call["by_interpreter"] + call["by_torch"]
        found.append(
            Pattern(
                name=call["call"],
                kernel=call["kernel"],
                runs=not reason,
                reason=reason,
                calls=count,
                fallbacks=call["by_torch"],
                copies=call["elsewhere"],
                why_copied=call["wrote_elsewhere"],
            )
        )
    return found


def fallbacks(module):
    """The patterns that torch's operators ran in place of their kernels, and why. In this process
    nobody reads the warnings."""
    return [
        {
            "pattern": pattern.name,
            "calls": pattern.calls,
            "fallbacks": pattern.fallbacks,
            "reason": pattern.reason,
        }
        for pattern in module.status().patterns
        if pattern.fallbacks
    ]


def fallback_notes(found):
    return [
        f"{row['pattern']} ran as torch's operators, not as its kernel, in {row['fallbacks']} of "
        f"{row['calls']} calls" + (f": {row['reason']}" if row["reason"] else "")
        for row in found
    ]
