"""The tree is as CMakeLists.txt draws it: a folder includes from those it declares, and from what these do."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def declared():
    """{folder of src: the folders it declares}, as fact_library has them."""
    text = (ROOT / "CMakeLists.txt").read_text()
    return {m[1]: m[2].split() for m in re.finditer(r"^fact_library\((\S+)((?: \S+)*)\)", text, re.M)}


def reachable(folder, arrows, seen=None):
    seen = set() if seen is None else seen
    for next_folder in arrows[folder]:
        if next_folder not in seen:
            seen.add(next_folder)
            reachable(next_folder, arrows, seen)
    return seen


def strangers(folder, text, arrows):
    """The folders that the text of a file in `folder` includes from, and may not."""
    included = set(re.findall(r'^#include "([\w/]+)/[^/"]+"', text, re.M))
    return included - reachable(folder, arrows) - {folder}


class Layout(unittest.TestCase):
    def test_includes_follow_the_arrows(self):
        arrows = declared()
        files = 0
        for folder in arrows:
            for file in [*(ROOT / "src" / folder).glob("*.h"), *(ROOT / "src" / folder).glob("*.cpp")]:
                files += 1
                wrong = strangers(folder, file.read_text(), arrows)
                self.assertFalse(wrong, f"{file.relative_to(ROOT)} includes from {wrong}: see CMakeLists.txt")
        self.assertGreater(files, 300)

    def test_an_arrow_the_other_way_is_found(self):
        arrows = {"support": [], "graph": ["support"], "match": ["graph"]}
        self.assertEqual(strangers("graph", '#include "match/pattern.h"\n', arrows), {"match"})
        self.assertEqual(strangers("match", '#include "support/result.h"\n#include <map>\n', arrows), set())

    def test_there_is_no_cycle(self):
        arrows = declared()
        for folder in arrows:
            self.assertNotIn(folder, reachable(folder, arrows))
        circle = {"graph": ["match"], "match": ["graph"]}
        self.assertIn("graph", reachable("graph", circle))

    def test_every_folder_is_declared(self):
        held = {file.parent.relative_to(ROOT / "src").as_posix() for file in (ROOT / "src").rglob("*.cpp")}
        self.assertEqual(held - set(declared()), {"cli"})  # the program itself

    def test_every_test_file_has_tests(self):
        files = [*(ROOT / "tests").rglob("*_test.cpp")]
        self.assertGreater(len(files), 100)
        for file in files:
            self.assertRegex(file.read_text(), r"(?m)^\s*TYPED_TEST|^\s*TEST", f"{file.relative_to(ROOT)} is empty")

    def test_json_is_parsed_in_one_place(self):
        # Behind its guard against deep nesting, and with messages of our own.
        parses = re.compile(r"json::(?:parse|accept|sax_parse)\(", re.I)
        held = {
            file.relative_to(ROOT).as_posix()
            for folder in ("src", "torch")
            for kind in ("*.h", "*.cpp")
            for file in (ROOT / folder).rglob(kind)
            if parses.search(file.read_text())
        }
        self.assertEqual(held, {"src/support/json_fields.cpp"})

    def test_files_are_short(self):
        for folder in ("src", "torch", "kernels", "python", "tests"):
            for kind in ("*.h", "*.cpp", "*.cuh", "*.py"):
                for file in (ROOT / folder).rglob(kind):
                    lines = file.read_text().count("\n")
                    self.assertLessEqual(lines, 400, f"{file.relative_to(ROOT)} has {lines} lines")


if __name__ == "__main__":
    unittest.main()
