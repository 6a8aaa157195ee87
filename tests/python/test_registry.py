"""`fact registry` and `fact runs` from outside, and a second run that has nothing left to do."""

import hashlib
import json
import os
import signal
import subprocess
import time
import unittest

from command_line import PROGRAM, TWO_LINEARS, CommandLine, model

TEXT = "kernel linear_bias(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n  y = x @ w.T\n}\n"
VERSIONS = "nvcc 13.0.88, CUTLASS 4.2.0"


def key_of(work, versions):
    """The documented key (docs/registry.md), written a second time."""

    def part(value):
        text = str(int(value) if isinstance(value, bool) else value)
        return f"{len(text.encode())}:{text}\n"

    parts = ["fact record 1", versions, work["call"], work["text"].replace("linear_bias", "_")]
    parts += [work[name] for name in ("dtype", "output", "arch", "gpu")]
    parts += [work[name] for name in ("split", "allow_tf32", "a_along_k", "b_along_k")]
    parts += [work[name] for name in ("m", "n", "k", "batch")]
    parts.append(len(work["extents"]))
    for name in sorted(work["extents"]):
        parts += [name, work["extents"][name]]
    for tensor in work["tensors"]:
        parts += [tensor["name"], tensor["constant"], tensor["alignment"]]
        parts += [len(tensor["dims"]), *tensor["dims"]]
    return hashlib.sha256("".join(map(part, parts)).encode()).hexdigest()[:16]


def record(m=4096, date="2026-01-31T12:00:00.000Z", versions=VERSIONS, **changes):
    work = {
        "rule": "linear",
        "dtype": "bf16",
        "output": "bf16",
        "split": False,
        "allow_tf32": False,
        "a_along_k": True,
        "b_along_k": True,
        "m": m,
        "n": 3072,
        "k": 768,
        "batch": 1,
        "extents": {"K": 768, "M": m, "N": 3072},
        "tensors": [{"name": "x", "constant": False, "alignment": 16, "dims": [2, 1]}],
        "arch": "sm90a",
        "gpu": "NVIDIA H200",
        "call": "0123456789abcdef",
        "text": TEXT,
        **changes,
    }
    times = {"median_us": 100.0, "low_us": 99.0, "high_us": 101.0, "runs": 40}
    slower = {"median_us": 150.0, "low_us": 149.0, "high_us": 151.0, "runs": 40}
    errors = {"largest": 1e-3, "rms": 1e-4}
    check = {"distribution": "normal", "seed": 1, "eager": errors, "kernel": errors}
    return {
        "format": 1,
        "key": key_of(work, versions),
        "work": work,
        "kernel": "linear_bias",
        "schedule": "tile 128x256x64 cluster 2x1 mainloop cooperative stages auto",
        "precision": "bf16",
        "times": {"single": times, "torch_single": slower, "held": times, "torch_held": slower},
        "checks": [check],
        "text_checks": [check],
        "note": "",
        "proof": "",
        "effort": 16,
        "candidates": 12,
        "toolchain": {"versions": versions, "code": "c0de", "compile_key": "feed"},
        "provenance": {"date": date, "fact": "0.1.0", "commit": "abc1234", "torch": "2.11.0"},
    }


class RegistryCommands(CommandLine):
    def setUp(self):
        super().setUp()
        # Nothing that FACT ships.
        (self.folder / "root" / "kernels").mkdir(parents=True)
        self.own = self.folder / "own"
        self.environment |= {"FACT_REGISTRY": str(self.own), "FACT_ROOT": str(self.folder / "root")}

    def lines(self, *records):
        return "".join(json.dumps(one) + "\n" for one in records)

    def taken(self, *records):
        result = self.fact("registry", "import", self.write("in.jsonl", self.lines(*records)))
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def fine(self, *arguments):
        result = self.fact("registry", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_help_everywhere(self):
        for command in ("", "list", "show", "export", "import", "prune", "stats"):
            result = self.fact("registry", *command.split(), "--help")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("--help", result.stdout)
        self.refused(self.fact("registry"), "subcommand")
        self.refused(self.fact("registry", "lisp"), "no command 'registry lisp'", "`fact registry list`")
        self.refused(self.fact("runs", "x"), "no command 'runs x'", "see `fact runs --help`")
        self.refused(self.fact("optimize", "x.py", "--retune", "--no-registry"), "--retune")

    def test_an_empty_registry_says_how_to_fill_it(self):
        self.assertIn("fact registry import", self.fine("list"))
        self.assertEqual(json.loads(self.fine("list", "--json")), [])
        self.assertIn("0 records", self.fine("stats"))
        self.refused(self.fact("registry", "export", "out.jsonl"), "no record")
        self.refused(self.fact("registry", "show", "00"), "no record 00", "fact registry list")
        self.assertFalse(self.own.exists())

    def test_import_list_show_export(self):
        one, two = record(), record(8192, dtype="f16")
        self.assertIn("2 added", self.taken(one, two))
        self.assertEqual(
            sorted(p.name for p in (self.own / "h200").glob("*.json")),
            sorted(r["key"] + ".json" for r in (one, two)),
        )
        listed = self.fine("list")
        for word in (one["key"], two["key"], "8192x3072x768", "1.50x", "own", "2026-01-31"):
            self.assertIn(word, listed)
        self.assertEqual(json.loads(self.fine("list", "--json", "--dtype", "f16")), [two])
        self.assertEqual(json.loads(self.fine("list", "--json", "--gpu", "h100")), [])
        self.assertEqual(len(json.loads(self.fine("list", "--json", "--rule", "linear"))), 2)
        shown = self.fine("show", one["key"][:10])
        for word in (TEXT, "tile 128x256x64", "100 us", VERSIONS, "abc1234", "1 check"):
            self.assertIn(word, shown)
        self.assertEqual(json.loads(self.fine("show", one["key"], "--json")), one)
        self.assertIn("2 records", self.fine("export", "out.jsonl"))
        exported = (self.folder / "out.jsonl").read_text()
        self.assertCountEqual([json.loads(line) for line in exported.splitlines()], [one, two])
        self.assertEqual(self.fine("export", "-", "--gpu", "h200"), exported)
        # It travels: another registry takes it whole, and a second time not at all.
        self.environment["FACT_REGISTRY"] = str(self.folder / "other")
        self.assertIn("2 added", self.fine("import", "out.jsonl"))
        self.assertIn("0 added, 0 replaced by a later measurement, 2 kept", self.fine("import", "out.jsonl"))
        self.assertEqual(self.fine("export", "-"), exported)
        stats = self.fine("stats")
        self.assertIn("2 records, 0 damaged files", stats)

    def test_import_refuses_what_is_no_record_and_takes_the_rest(self):
        edited = record(16)
        edited["work"]["m"] = 32
        newer = record(64) | {"format": 2}
        self.write("mixed.jsonl", self.lines(record(), edited, newer) + "{torn\n")
        result = self.fact("registry", "import", "mixed.jsonl")
        self.assertEqual(result.returncode, 2)
        self.assertIn("1 added", result.stdout)
        self.assertIn("3 refused", result.stdout)
        for part in ("mixed.jsonl:2: refused", "its content has the key", "jsonl:3: refused", "format 2", "jsonl:4:"):
            self.assertIn(part, result.stderr)
        self.assertEqual(len(list((self.own / "h200").glob("*.json"))), 1)
        self.refused(self.fact("registry", "import", "missing.jsonl"), "missing.jsonl")

    def test_the_later_measurement_stays(self):
        self.taken(record())
        self.assertIn("1 replaced", self.taken(record(date="2026-03-01T00:00:00.000Z")))
        self.assertIn("1 kept", self.taken(record(date="2026-02-01T00:00:00.000Z")))
        self.assertIn("2026-03-01", self.fine("list"))

    def test_prune(self):
        old = record(16, date="2020-01-01T00:00:00.000Z")
        self.taken(old, record(32, date="2999-01-01T00:00:00.000Z"))
        self.write("own/h200/torn.json", "{")
        self.refused(self.fact("registry", "prune"), "--older-than DAYS")
        self.refused(self.fact("registry", "prune", "--older-than", "-1"), "--older-than")
        dry = self.fine("prune", "--older-than", "30", "--damaged", "--dry-run")
        self.assertIn("2 files would be removed", dry)
        self.assertEqual(len(list((self.own / "h200").glob("*.json"))), 3)
        self.assertIn("1 file removed", self.fine("prune", "--older-than", "30"))
        self.assertNotIn(old["key"], self.fine("list"))
        self.assertIn("torn.json", self.fact("registry", "list").stderr)
        self.assertIn("1 file removed", self.fine("prune", "--damaged"))
        self.assertEqual(self.fact("registry", "list").stderr, "")

    def test_prune_by_toolchain(self):
        self.environment["FACT_ROOT"] = os.environ.get("FACT_ROOT", "")
        here = self.fact("version").stdout.split("compiler: ")[1].splitlines()[0]
        if not here.startswith("nvcc"):
            self.skipTest("no compiler")
        self.taken(record(40, versions=here), record(56, versions="nvcc 12.4.0, CUTLASS 3.9.0"))
        self.assertIn("1 file removed", self.fine("prune", "--toolchain-other"))
        left = {r["work"]["m"] for r in json.loads(self.fine("list", "--json"))}  # and shipped ones
        self.assertIn(40, left)
        self.assertNotIn(56, left)

    def test_shipped_records_are_read_and_kept(self):
        self.environment["FACT_REGISTRY"] = str(self.folder / "root" / "registry")
        self.taken(record(date="2020-01-01T00:00:00.000Z"))
        self.environment["FACT_REGISTRY"] = str(self.own)
        self.assertIn("shipped", self.fine("list"))
        self.assertIn("0 files removed", self.fine("prune", "--older-than", "1"))
        self.assertIn("shipped", self.fine("list"))


class Runs(CommandLine):
    def fine(self, *arguments):
        result = self.fact(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def test_no_runs(self):
        self.assertIn("no runs", self.fine("runs", "list").stdout)
        self.assertEqual(json.loads(self.fine("runs", "list", "--json").stdout), [])
        for command in ("show", "resume"):
            self.refused(self.fact("runs", command, "none"), "no run none", "fact runs list")
        (self.folder / "run").mkdir()
        self.write("run/run.json", "{")
        self.refused(self.fact("runs", "show", "run"), "run.json")
        self.write("run/run.json", '{"source": "two.py"}')
        self.refused(self.fact("runs", "resume", "run"), "not made by `fact optimize`", "fact realize")
        (self.folder / "killed").mkdir()
        state = {"stage": "trace", "state": "running", "process": 0}  # of no process that is alive
        state |= dict.fromkeys(("started", "changed", "device", "why"), "")
        self.write("killed/state.json", json.dumps(state))
        self.refused(self.fact("runs", "resume", "killed"), "interrupted in trace and left nothing to continue from", "again")

    def test_interrupted_resumed_finished(self):
        self.write("two.py", model(TWO_LINEARS))
        process = subprocess.Popen(
            [PROGRAM, "optimize", "two.py", "--dtype", "bf16", "-o", "package", "--no-bench"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for line in process.stderr:
            if "realize 1/2" in line:
                [run] = json.loads(self.fine("runs", "list", "--json").stdout)
                self.assertEqual((run["state"], run["stage"]), ("running", "realize"))
                self.refused(self.fact("runs", "resume", "two"), "still running")
                process.send_signal(signal.SIGINT)
                break
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        [run] = json.loads(self.fine("runs", "list", "--json").stdout)
        self.assertEqual((run["state"], run["stage"]), ("interrupted", "realize"))
        self.assertTrue(run["resumable"])
        listed = self.fine("runs", "list").stdout
        self.assertIn("interrupted in realize", listed)
        self.assertIn("1 of 2", listed)
        self.assertIn("fact runs resume", self.fine("runs", "show", "two").stdout)
        # From another folder: the run knows where it was started, and what it was asked.
        folder = self.folder / ".fact" / "runs"
        [name] = os.listdir(folder)
        (self.folder / "elsewhere").mkdir()
        resumed = subprocess.run(
            [PROGRAM, "runs", "resume", str(folder / name)],
            cwd=self.folder / "elsewhere",
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertIn("trace: unchanged", resumed.stderr)
        self.assertIn("earlier run", resumed.stderr)
        self.assertNotIn("bench:", resumed.stderr)
        self.assertTrue((self.folder / "package" / "manifest.json").exists())
        self.assertEqual(os.listdir(self.folder / "elsewhere"), [])
        shown = self.fine("runs", "show", name).stdout
        self.assertIn("finished", shown)
        self.assertIn("compiled, not run; its text was checked", shown)
        journal = [json.loads(line) for line in (folder / name / "journal.jsonl").read_text().splitlines()]
        self.assertEqual(sum(entry.get("stage") == "realize" for entry in journal), 2)
        # The second family may have been answered, and not kept, when the interruption came.
        self.assertIn(sum("reply" in entry for entry in journal), (2, 3))

    def test_a_failure_is_told(self):
        self.write("two.py", model(TWO_LINEARS))
        self.environment["FACT_NVCC"] = "/no/such/nvcc"
        self.assertEqual(self.fact("optimize", "two.py").returncode, 1)
        self.assertIn("failed in realize", self.fine("runs", "list").stdout)
        self.assertIn("/no/such/nvcc", self.fine("runs", "show", "two").stdout)


class SecondRun(CommandLine):
    def stored(self):
        cache = self.folder / "cache"
        return sorted(str(p) for p in cache.rglob("*")), [p.stat().st_mtime_ns for p in sorted(cache.rglob("*"))]

    def test_compiles_checks_and_measures_nothing(self):
        self.write("two.py", model(TWO_LINEARS))
        command = ["optimize", "two.py", "--dtype", "bf16"]
        first = self.fact(*command)
        self.assertEqual(first.returncode, 0, first.stderr)
        before = self.stored()
        started = time.monotonic()
        again = self.fact(*command)
        took = time.monotonic() - started
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("compiled 0, from the cache 0", again.stdout)
        self.assertIn("bench: unchanged", again.stderr)
        self.assertLess(took, 2)
        # In a run folder of its own only the tracing is done again; no worker and no compiler can.
        self.environment |= {"FACT_WORKER": "/bin/false"}
        fresh = self.fact(*command, "--run-dir", "fresh")
        self.assertEqual(fresh.returncode, 0, fresh.stderr)
        self.assertIn("trace: exported", fresh.stderr)
        self.assertIn("compiled 0, from the cache 0", fresh.stdout)
        self.assertIn("bench: known from an earlier run", fresh.stderr)
        self.assertEqual(self.stored(), before)
        # Whoever wants nothing of other runs gets nothing of them.
        alone = self.fact(*command, "--run-dir", "alone", "--no-registry", "--no-bench")
        self.assertEqual(alone.returncode, 1, alone.stderr)

    def test_without_the_registry(self):
        self.write("two.py", model(TWO_LINEARS))
        result = self.fact("optimize", "two.py", "--dtype", "bf16", "--no-registry")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertFalse((self.folder / "cache" / "results").exists())
        self.assertFalse((self.folder / "cache" / "registry").exists())


if __name__ == "__main__":
    unittest.main()
