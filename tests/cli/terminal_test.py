"""The output on a terminal and in a pipe."""
import re
import subprocess
import unittest

from program import BINARY, SANITIZED, ProgramTest, allocated, case_file, group

ESCAPE = "\x1b"
FAULTY = 4099


class TerminalTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("mine.json", case_file(group("mine", [[n] for n in range(1, 30)])))

    def table(self, text, title):
        lines = self.screen(text)
        start = next(i for i, line in enumerate(lines) if line.startswith(title))
        end = lines.index("", start) if "" in lines[start:] else len(lines)
        return lines[start:end]

    def test_progress_bar(self):
        code, text = self.on_terminal("test", "--cases", "mine.json")
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"\r\x1b\[K\[[#.]+\]  \d+/29  0 failed  0:\d\d elapsed")
        self.assertFalse(any("elapsed" in line for line in self.screen(text)), "the bar must be erased at the end")
        self.assertIn("29 cases: 29 passed", text)
        bars = re.findall(r"\x1b\[K(\[[#.]+\][^\r\x1b]*)", text)
        self.assertTrue(bars and all(len(bar) < 80 for bar in bars), f"bars that wrap: {bars}")

    def test_no_escapes_in_a_pipe(self):
        for args in (["test", "--cases", "mine.json"], ["report"], ["gen", "--cases", "mine.json"],
                     ["gen", "--dry-run", "--cases", "mine.json"], ["--help"], ["test", "--help"]):
            with self.subTest(args=args):
                run = self.expect(0, *args, env={"TERM": "xterm", "COLUMNS": "80"})
                self.assertNotIn(ESCAPE, run.out + run.err)
                self.assertNotIn("\r", run.out + run.err)
                self.assertNotIn("elapsed", run.out + run.err)

    def test_no_bar_and_no_escapes_if_they_are_disabled(self):
        code, text = self.on_terminal("test", "--cases", "mine.json", TERM="dumb")
        self.assertEqual(code, 0, text)
        self.assertNotIn(ESCAPE, text)
        code, text = self.on_terminal("test", "--cases", "mine.json", "--json")
        self.assertEqual(code, 0, text)
        self.assertNotIn(ESCAPE, text)
        self.assertEqual(text.lstrip()[0], "{")

    def test_no_colours_with_no_color(self):
        _, colourful = self.on_terminal("test", "--cases", "mine.json", "--quiet")
        _, report = self.on_terminal("report")
        self.assertIn("\x1b[1m", report)
        code, text = self.on_terminal("report", NO_COLOR="1")
        self.assertEqual(code, 0, text)
        self.assertNotIn("\x1b[1m", text)
        self.assertIn("29 passed", colourful)

    def test_tables_fit_a_terminal_of_80_columns(self):
        self.on_terminal("test", "--cases", "mine.json", "--quiet")
        for columns, env in ((80, {}), (0, {"COLUMNS": "80"}), (0, {})):
            with self.subTest(columns=columns, env=env):
                code, text = self.on_terminal("report", columns=columns, **env)
                self.assertEqual(code, 0, text)
                table = self.table(text, "operator")
                self.assertGreaterEqual(len(table), 4)
                self.assertLessEqual(max(map(len, table)), 80, "\n".join(table))
                code, text = self.on_terminal("gen", "--dry-run", columns=columns, **env)
                table = self.table(text, "Cases")
                self.assertGreater(len(table), 390)
                self.assertLessEqual(max(map(len, table)), 80)
                self.assertLessEqual(max(map(len, self.screen(text))), 80, "a line outside the table")

    def test_profile_table_fits(self):
        code, text = self.on_terminal("profile", "--cases", "mine.json", "--fname", "add", "--max-time", "0.001")
        self.assertEqual(code, 0, text)
        table = self.table(text, "Name")
        self.assertLessEqual(max(map(len, table)), 80, "\n".join(table))
        self.assertGreaterEqual(len(table), 31)

    def test_help_fits(self):
        for command in ([], ["test"], ["gen"], ["compare"], ["profile"], ["fallback-sim"], ["report"]):
            run = self.expect(0, *command, "--help")
            self.assertLessEqual(max(map(len, run.out.splitlines())), 110, str(run))

    def test_output_that_cannot_be_written_is_an_error(self):
        for args in (["test", "--cases", "mine.json", "--json"], ["gen", "--list-models"], ["report", "--json"]):
            with self.subTest(args=args), open("/dev/full", "wb") as full:
                self.expect(0, "test", "--cases", "mine.json", "--quiet")
                done = subprocess.run([str(BINARY), *args], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True,
                                      check=False)
                self.assertNotEqual(done.returncode, 0, "an incomplete JSON text without an error")
                self.assertIn("No space left on device", done.stderr)

    def test_failures_are_logged_above_the_bar(self):
        if SANITIZED:
            self.skipTest("a sanitizer's runtime does not support a preloaded library")
        self.write("mine.json", case_file(group("mine", [[FAULTY]] + [[n] for n in range(1, 30)])))
        code, text = self.on_terminal("test", "--cases", "mine.json", "--jobs", "1", faults=f"abort@{allocated(FAULTY)}")
        self.assertEqual(code, 1, text)
        lines = self.screen(text)
        [failed] = [line for line in lines if "DIOPI-Test - ERROR" in line]
        self.assertRegex(failed, r"^\d{4}-\d\d-\d\d ", "the bar was not erased first")
        self.assertIn("    SIGABRT (Aborted)", lines)
        self.assertIn("1 failed", text)


if __name__ == "__main__":
    unittest.main()
