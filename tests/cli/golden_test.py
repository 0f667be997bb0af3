"""The exact output of the commands; approve.py accepts new output."""
import csv
import difflib
import io
import pathlib
import re
import shlex
import unittest

from program import SOURCE, ProgramTest, allocated, case_file, group

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
FAULTY = 4099

MASKS = [
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}"), "<time>"),
    (re.compile(r"\(\d+\.\d s"), "(<seconds> s"),
    (re.compile(r"\b\d+\.\d [KMG]iB\b"), "<bytes>"),
    (re.compile(r" +\d+\.\d{3}[mu]s\b"), " <time>"),
    (re.compile(r" +±?\d+\.\d+%"), " <share>"),
    (re.compile(re.escape(str(SOURCE)) + r"(?=[/\s]|$)"), "<source>"),
]


def masked(text, folder):
    text = text.replace(str(folder), "<folder>")
    for pattern, name in MASKS:
        text = pattern.sub(name, text)
    return text


def show(run, pick=None):
    """A run in the form of a golden file: exit code, output, errors."""
    lines = run.out.splitlines(keepends=True)
    text = f"exit code {run.code}\n" + "".join(pick(lines) if pick else lines)
    return text + ("--- stderr\n" + run.err if run.err else "")


class Commands:
    """One method per golden file; each gives the text that the file must hold."""

    def __init__(self, test):
        self.test = test

    def help(self):
        return show(self.test.diopi("--help"))

    def help_test(self):
        return show(self.test.diopi("test", "--help"))

    def help_gen(self):
        return show(self.test.diopi("gen", "--help"))

    def help_profile(self):
        return show(self.test.diopi("profile", "--help"))

    def profile(self):
        """Rates are masked together with the text before them: they differ in every run."""
        self.test.write("mine.json", case_file(group("mine", [[64], [8, 16]], ops=("add", "mul"))))
        run = self.test.diopi("profile", "--cases", "mine.json", "--max-time", "0.002", "--no-roofs",
                              "--group-by-input-shape", "--sort-by", "name")
        return re.sub(r" +\d+\.\d+(  float)", r" <rate>\1", show(run))

    def help_report(self):
        return show(self.test.diopi("report", "--help"))

    def help_report_merge(self):
        return show(self.test.diopi("report", "merge", "--help"))

    def test_add(self):
        return show(self.test.diopi("test", "--fname", "add", "--filter-dtype", "float64", "--quiet"))

    def report(self):
        self.test.diopi("test", "--fname", "add", "--filter-dtype", "float64", "--quiet")
        return show(self.test.diopi("report"))

    def gen_dry_run(self):
        totals = ("operator cases", "model cases")
        return show(self.test.diopi("gen", "--dry-run"),
                    lambda lines: lines[:5] + ["...\n"] + [s for s in lines if s.startswith(totals)] + lines[-1:])

    def gen(self):
        self.test.write("mine.json", case_file(group("mine", [[4], [5]])))
        return show(self.test.diopi("gen", "--cases", "mine.json")) + show(self.test.diopi("gen", "--cases", "mine.json"))

    def compare(self):
        return show(self.test.diopi("compare", "--case", "ops/relu.relu.33"))

    def fallback_sim(self):
        return show(self.test.diopi("fallback-sim"))

    def terminal_80(self):
        return self._screens(80)

    def terminal_120(self):
        return self._screens(120)

    def _screens(self, columns):
        """What stands on a terminal of that width after each command, without colours."""
        self.test.write("mine.json", case_file(group("mine", [[4], [FAULTY], [2, 3, 5]], dtypes=["float64"], ops=("add", "mul"))))
        crash = f"abort@{allocated(FAULTY)}"
        text = ""
        for faults, line in (
                ("", "test add mul --level 1 --cases mine.json -j 1"),
                ("", "test mul --cases mine.json -v -j 1"),
                (crash, "test --cases mine.json -j 1"),
                (crash, "test --cases mine.json -j 1 -x --format seed"),
                ("", "test --cases mine.json --last-failed --collect-only"),
                ("", "report ad"), ("", "report add"),
                ("", "test --case ops/relu.relu.7? --only-dtype f32 -k 'relu and not float16' --collect-only"),
                ("", "test --seed 010"), ("", "test ad"), ("", "test --cases add"), ("", "list models resnet*"), ("", "list captures"),
                ("", "compare --case ops/relu.relu.33 ops/masked_fill_scalar.masked_fill.2 --ulp"),
                ("", "fallback-sim"), ("", "help report merge"), ("", "gen --cases mine.json -j 1")):
            code, screen = self.test.on_terminal(*shlex.split(line), columns=columns, faults=faults)
            text += f"$ diopi {line}\n" + "\n".join(self.test.screen(screen)).rstrip() + f"\nexit code {code}\n\n"
        return text

    def failing(self):
        """Longest case first, one worker: the lines come in one order."""
        self.test.write("mine.json", case_file(group("mine", [[4], [FAULTY]], dtypes=["float64", "int32"], inplace=True)))
        return show(self.test.diopi("test", "--cases", "mine.json", "--filter-dtype", "int32", "--jobs", "1",
                                    faults=f"segv@{allocated(FAULTY)}"))

    def error_report(self):
        """The rows one field per line: a row is too long to read."""
        self.failing()
        text = (self.test.folder / "error_report.csv").read_bytes().decode()
        rows = csv.reader(io.StringIO(text, newline=""))
        header = next(rows)
        shown = ",".join(header) + "\n"
        for row in rows:
            shown += "\n" + "".join(f"{name}: {field}".rstrip() + "\n" for name, field in zip(header, row, strict=True))
        return shown


NAMES = [name for name in vars(Commands) if not name.startswith("_")]


class GoldenTest(ProgramTest):
    def text_of(self, name):
        return masked(getattr(Commands(self), name)(), self.folder)

    def check(self, name):
        path = GOLDEN / f"{name}.txt"
        wanted = path.read_text() if path.exists() else ""
        found = self.text_of(name)
        if found == wanted:
            return
        diff = "".join(difflib.unified_diff(wanted.splitlines(True), found.splitlines(True), f"golden/{name}.txt", "found"))
        self.fail(f"{diff}\nIf the new text is right: tests/cli/approve.py {name}")

    def test_every_golden_file_is_compared(self):
        self.assertEqual({path.stem for path in GOLDEN.glob("*.txt")}, set(NAMES))


def add_test(name):
    setattr(GoldenTest, f"test_{name}", lambda self: self.check(name))


for each in NAMES:
    add_test(each)

if __name__ == "__main__":
    unittest.main()
