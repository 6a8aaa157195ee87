"""./fact itself, with stand-ins for every tool it starts."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

TOOLS = {
    "c++": "cat >/dev/null",
    "nvcc": "echo 'Cuda compilation tools, release 13.0, V13.0.48'",
    "cmake": """
        case $1 in --version) echo "cmake version 3.30.0"; exit ;; esac
        while [ "$1" != -B ]; do shift; done
        echo "CMAKE_HOME_DIRECTORY:INTERNAL=$TREE" >"$2/CMakeCache.txt"
        touch "$2/build.ninja"
    """,
    "ninja": """
        printf '#!/bin/sh\\necho "$FACT_PYTHON"\\n' >"$2/fact"
        chmod +x "$2/fact"
    """,
}


class Launcher(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fact-launcher-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tree = self.folder / "tree"
        for name in ("src", "torch"):
            (self.tree / name).mkdir(parents=True)
        (self.tree / "CMakeLists.txt").touch()
        shutil.copytree(ROOT / "scripts", self.tree / "scripts")
        shutil.copy(ROOT / "fact", self.tree / "fact")
        header = self.folder / "deps" / "include" / "cutlass" / "version.h"
        header.parent.mkdir(parents=True)
        header.write_text("#define CUTLASS_MAJOR 4\n#define CUTLASS_MINOR 2\n")
        for name, body in TOOLS.items():
            self.tool("bin", name, body)

    def tool(self, place, name, body):
        path = self.folder / place / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'#!/bin/sh\necho {place}/{name} >>"$CALLS"\n{body}\n')
        path.chmod(0o755)

    def python(self, place, torch):
        """A python3 that has the PyTorch of that folder."""
        (self.folder / torch).mkdir(exist_ok=True)
        self.tool(place, "python3", f'[ "$1" = - ] && echo {self.folder / torch}')

    def fact(self, *arguments, path=()):
        """What it prints and the tools it started."""
        calls = self.folder / "calls"
        calls.write_text("")
        places = [str(self.folder / name) for name in (*path, "bin")]
        environment = {
            "PATH": ":".join([*places, "/usr/bin", "/bin"]),
            "FACT_DEPS_DIR": str(self.folder / "deps"),
            "CALLS": str(calls),
            "TREE": str(self.tree),
        }
        result = subprocess.run(
            [self.tree / "fact", *arguments], env=environment, capture_output=True, text=True, timeout=60
        )
        return result, calls.read_text().split()

    def test_one_set_up_is_remembered_for_each_interpreter(self):
        self.python("first", "torch-a")
        self.python("second", "torch-a")
        self.python("third", "torch-b")
        for place in ("first", "second", "third"):
            result, calls = self.fact("version", path=[place])
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(f"{place}/python3", calls)
            self.assertIn("bin/cmake", calls)
        # Known, but the build is for the other PyTorch.
        result, calls = self.fact("version", path=["first"])
        self.assertNotIn("first/python3", calls)
        self.assertIn("bin/cmake", calls)
        for place in ("second", "first", "first"):
            result, calls = self.fact("version", path=[place])
            self.assertEqual(result.stdout, f"{self.folder / place / 'python3'}\n", result.stderr)
            self.assertEqual(calls, [])

    def test_help_of_the_tests_builds_nothing(self):
        for option in ("--help", "-h"):
            result, calls = self.fact("test", option)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("Usage: ./fact test [--sanitize]", result.stdout)
            self.assertEqual(calls, [])
        result, calls = self.fact("test", "--fast")
        self.assertEqual(result.returncode, 2)
        self.assertIn("'--fast'", result.stderr)
        self.assertEqual(calls, [])
        self.assertFalse((self.tree / ".fact").exists())

    def test_a_build_without_tests_fails(self):
        folder = self.folder / "build"
        for body, said in (
            ("echo 'Total Tests: 0'", "ctest lists no tests in"),
            ("echo '  Test #1: support'; exit 1", "ctest lists no tests in"),
        ):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            self.tool("bin", "ctest", body)
            command = f"""
                set -euo pipefail
                source {ROOT}/scripts/test.sh
                run_programs {folder} " (here)"
                echo "$passed passed, $failed failed"
            """
            done = subprocess.run(
                ["bash", "-c", command],
                env={"PATH": f"{self.folder}/bin:/usr/bin:/bin", "CALLS": str(self.folder / "calls")},
                capture_output=True,
                text=True,
                timeout=60,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(said, done.stdout)
            self.assertIn("C++ tests (here): 0 passed, 1 failed\n0 passed, 1 failed\n", done.stdout)


if __name__ == "__main__":
    unittest.main()
