"""diopi report --gui: the window on a virtual screen, drawn by OpenGL in software."""
import collections
import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import time
import unittest
import zlib

import fallback_test
from program import BINARY, ProgramTest, allocated, case_file, group

CRASHING = 4099
FAULT = f"segv@{allocated(CRASHING)}"
SIZE = (1280, 800)
# The colours of the light theme (apps/diopi/gui/theme.cpp).
ACCENT, PASSED, FAILED, FAILED_BACK = (0x1F, 0x5F, 0xBF), (0x1D, 0x7F, 0x4F), (0xC2, 0x2F, 0x2F), (0xFB, 0xE3, 0xE3)
ADVICE = (0xA8, 0x64, 0x00)
# A dot of a plot and a call of a timeline over white, and the first bin of errors in ulp.
DOT, CALL, SMALL_ERROR = (0x79, 0x9F, 0xD9), (0x57, 0x87, 0xCF), (0x2C, 0x7A, 0x4B)
DARK_BACK = (0x14, 0x17, 0x1B)


def colours_of_png(path):
    """Width, height and the number of points of each colour of a PNG of 8-bit RGB."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:8]
    packed, at = b"", 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        content = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour_type = struct.unpack(">IIBB", content[:10])
            assert (depth, colour_type) == (8, 2)
        elif kind == b"IDAT":
            packed += content
        at += length + 12
    rows, counts = zlib.decompress(packed), collections.Counter()
    for start in range(0, len(rows), 3 * width + 1):
        assert rows[start] == 0, "a row has a filter"
        row = rows[start + 1:start + 1 + 3 * width]
        counts.update(zip(row[0::3], row[1::3], row[2::3]))
    return width, height, counts


def ink(colours):
    """The number of dark points: those of texts and lines, whose edges have many colours."""
    return sum(count for colour, count in colours.items() if max(colour) < 128)


def reddish(colours):
    """The number of points of red texts: most points of a letter mix its colour with that of the background."""
    return sum(count for (red, green, blue), count in colours.items() if red > 1.5 * max(green, blue))


class Screen:
    """A virtual screen, whose points are in a file."""

    def __init__(self, folder, *options):
        self.folder = pathlib.Path(folder)
        read, write = os.pipe()
        self.process = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "1400x900x24", "-fbdir", folder, "-nolisten", "tcp", *options],
            pass_fds=[write], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as numbers:
            self.display = ":" + numbers.readline().strip()

    def environment(self):
        return {"DISPLAY": self.display, "LIBGL_ALWAYS_SOFTWARE": "1"}

    def shows(self, colour, points=100):
        """Whether more than that many points have the colour."""
        data = (self.folder / "Xvfb_screen0").read_bytes()
        header, colours = struct.unpack(">I", data[:4])[0], struct.unpack(">I", data[76:80])[0]
        red, green, blue = colour
        return data[header + 12 * colours:].count(bytes([blue, green, red])) > points

    def close(self):
        self.process.terminate()
        self.process.wait()


@unittest.skipUnless(shutil.which("Xvfb"), "needs Xvfb (apt-get install xvfb)")
@unittest.skipUnless((BINARY.parents[1] / "lib/libdiopi_gui.so").exists(), "built without the window (DIOPI_GUI)")
class ScreenTest(ProgramTest):
    """Windows on one virtual screen."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="diopi_screen_")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.screen = Screen(folder)
        cls.addClassCleanup(cls.screen.close)

    def picture(self, tab, *args, run="run"):
        """The colours of the window's picture."""
        self.expect(0, "report", "--gui", "--run", run, "--gui-tab", tab, "--gui-screenshot", f"{tab}.png", *args,
                    env=self.screen.environment())
        width, height, colours = colours_of_png(self.folder / f"{tab}.png")
        self.assertEqual((width, height), SIZE)
        self.assertGreater(len(colours), 20)
        return colours

    def refuse(self, run, tab, *err):
        """The window has no picture of that tab, and says why."""
        self.expect(2, "report", "--gui", "--run", run, "--gui-tab", tab, "--gui-screenshot", "picture.png",
                    env=self.screen.environment(), err=err)
        self.assertFalse((self.folder / "picture.png").exists())


class WindowTest(ScreenTest):
    def setUp(self):
        super().setUp()
        sizes = [[n] for n in (CRASHING, 300, 200)]
        softmax = {"group": "half", "ops": ["softmax"], "dtypes": ["float32"], "params": {"dim": 1},
                   "tolerance": {"atol": 0, "rtol": 0, "instead_of_class": True},
                   "tensors": [{"name": "input", "shapes": [[20, 30]]}]}
        self.write("mine.json", case_file(group("mine", sizes, ops=("add", "mul")), softmax))

    def run_cases(self, run, code, *args, **how):
        self.expect(code, "test", "--cases", "mine.json", "--run", run, "--save-failures", "bad", *args, **how)

    def test_each_tab_shows_the_run(self):
        self.run_cases("run", 1, faults=FAULT)
        overview = self.picture("overview")
        self.assertGreater(overview[PASSED], 1000)
        self.assertGreater(overview[FAILED], 1000)
        failures = self.picture("failures")
        self.assertEqual(failures[PASSED], 0)
        self.assertGreater(reddish(failures), 100)
        self.assertGreater(self.picture("support")[FAILED_BACK], 1000)
        self.assertGreater(self.picture("accuracy")[FAILED], 100)
        self.assertGreater(self.picture("time")[ACCENT], 1000)
        # Each element has about the same share of the map, in a colour of its own.
        tensors = self.picture("tensors", "--bundle", "bad/ops-half-softmax-0-forward.h5")
        self.assertGreater(sum(1 for count in tensors.values() if count > 500), 50)

    def test_operators_are_the_first_filter(self):
        self.run_cases("run", 1, faults=FAULT)
        self.assertEqual(self.picture("overview", "softmax")[PASSED], 0)
        self.assertGreater(self.picture("overview", "mul")[PASSED], 1000)

    def test_the_dark_theme_is_dark(self):
        self.run_cases("run", 1)
        self.assertGreater(self.picture("overview", "--gui-theme", "dark")[DARK_BACK], SIZE[0] * SIZE[1] // 2)

    def test_a_window_follows_a_run_that_begins_later(self):
        window = self.start("report", "--gui", "--run", "run", env=self.screen.environment())
        self.wait_for(lambda: self.screen.shows((255, 255, 255)), "the window is on the screen")
        self.assertFalse(self.screen.shows(PASSED))
        self.run_cases("run", 1)
        self.wait_for(lambda: self.screen.shows(PASSED) and self.screen.shows(FAILED), "the window shows the verdicts")
        self.run_cases("run", 0, "--fname", "add")
        self.wait_for(lambda: not self.screen.shows(FAILED), "the window shows the run that replaced the first")
        self.assertIsNone(window.popen.poll())
        if not shutil.which("xdotool"):
            self.skipTest("closing the window needs xdotool (apt-get install xdotool)")

        def is_closed():
            subprocess.run(["xdotool", "search", "--onlyvisible", "--name", "diopi report", "windowfocus", "key", "ctrl+q"],
                           env={**os.environ, **self.screen.environment()}, capture_output=True, check=False, timeout=30)
            return window.popen.poll() is not None

        self.wait_for(is_closed, "the window is closed")
        self.assertEqual(window.finish(30).code, 0)

    def test_what_cannot_be_shown_is_refused(self):
        self.run_cases("run", 1)
        self.write("foreign.jsonl", '{"some": "other file"}\n')
        shot = ("--gui-screenshot", "picture.png")
        screen = self.screen.environment()
        self.expect(2, "report", "--gui", "--run", "foreign.jsonl", *shot, env=screen, err="is not a run journal")
        self.expect(2, "report", "--gui", "--run", "run", "--bundle", "no.h5", *shot, env=screen, err="no.h5")
        self.expect(2, "report", "--gui", "--run", "run", "--gui-screenshot", "run", env=screen, err="run")
        self.expect(2, "report", "--gui", "--run", ".", *shot, env=screen, err=". has the runs of shards")
        self.assertFalse((self.folder / "picture.png").exists())

    def test_a_run_that_is_not_there_is_waited_for(self):
        self.assertGreater(self.picture("overview", run="later")[255, 255, 255], SIZE[0] * SIZE[1] // 2)

    def test_without_a_display_a_line_says_what_to_do(self):
        run = self.expect(2, "report", "--gui", "--run", "run", env={"DISPLAY": ":987654", "WAYLAND_DISPLAY": ""})
        self.assertRegex(run.err, r"^diopi: error: no display: set DISPLAY, or use --html FILE \(.+\)\n$")

    def test_without_opengl_a_line_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            screen = Screen(folder, "-extension", "GLX")
            self.addCleanup(screen.close)
            self.expect(2, "report", "--gui", env=screen.environment(), err="no OpenGL 3 on this display")


class KeptReportsTest(ScreenTest):
    """The views of profile, compare and fallback-sim."""

    def keep(self, command, *args, code=0):
        self.expect(code, command, *args, "--run", "run", "--quiet", timeout=300)

    def keep_comparison(self, *args, code=1):
        self.write("three.json", fallback_test.capture())
        self.keep("compare", "--capture", "three.json", *args, code=code)

    def keep_profile(self, *args):
        self.keep("profile", "mm", "--shape", "64x64", "64x64", "--passes", "2", "--max-time", "0.05", *args)

    def edit(self, kind, change):
        """Changes the report that is kept."""
        path = self.folder / f"run/{kind}.json"
        kept = json.loads(path.read_text())
        change(kept["report"])
        path.write_text(json.dumps(kept))

    def test_a_profile_has_its_roofline_its_ratios_and_its_tables(self):
        self.keep_profile("--against", "reference")
        roofline = self.picture("profile-roofline")
        self.assertGreater(roofline[DOT], 100)
        self.assertEqual(self.picture("profile-roofline", "softmax")[DOT], 0)
        self.assertEqual(self.picture("profile")[DOT], roofline[DOT])
        self.assertGreater(ink(roofline), ink(self.picture("profile-operators")) + 1000)  # the roofs
        ratios = self.picture("profile-ratios")
        self.assertGreater(max(ratios[ACCENT], ratios[PASSED], ratios[FAILED]), 30)
        self.assertGreater(self.picture("profile-operators")[ACCENT], 1000)
        self.assertEqual(self.picture("profile-operators", "softmax")[ACCENT], 0)
        self.assertGreater(ink(self.picture("profile-calls")), ink(self.picture("profile-calls", "softmax")) + 100)
        self.refuse("run", "profile-timeline", "--gui-tab profile-timeline: run has no layers: diopi profile --capture")
        self.refuse("run", "compare-course", "run has no comparison: diopi compare makes it")
        self.refuse("run", "overview", "run has no tests: diopi test makes them")

    def test_a_profile_with_a_baseline_has_ratios(self):
        self.keep_profile("--no-roofs")
        shutil.copytree(self.folder / "run", self.folder / "base")
        self.refuse("run", "profile-ratios", "no ratios: diopi profile --against IMPL or --baseline RUN makes them")
        self.plant_times("base", 1e6)  # so that the call did not become slower, whatever else the machine does
        self.keep_profile("--no-roofs", "--baseline", "base")
        # Two passes may say too little for a verdict, which is then AMBIGUOUS: each is planted.
        colours = {"FASTER": PASSED, "SLOWER": FAILED, "SAME": ACCENT}
        pictures = {}
        for verdict in colours:
            self.edit("profile", lambda report, verdict=verdict: report["calls"][0]["baseline"].update(verdict=verdict))
            pictures[verdict] = self.picture("profile-ratios")
        for verdict, colour in colours.items():
            most_of_others = max(picture[colour] for other, picture in pictures.items() if other != verdict)
            self.assertGreater(pictures[verdict][colour], most_of_others + 30, verdict)

    def test_a_captured_step_has_its_timeline(self):
        self.keep("profile", "--capture", "decoder", "--run-times", "1", "--no-roofs")
        timeline = self.picture("profile-timeline")
        self.assertGreater(timeline[CALL], 10000)
        # A filter fades the other calls; it finds layers, too.
        self.assertEqual(self.picture("profile-timeline", "softmax")[CALL], 0)
        chosen = self.picture("profile-timeline", "attention")[CALL]
        self.assertGreater(chosen, 1000)
        self.assertLess(chosen, timeline[CALL])
        self.refuse("run", "profile-roofline", "run has no roofs, or no call that counts operations")

    def test_a_comparison_has_differences_course_histograms_and_operators(self):
        self.keep("compare", "--capture", "decoder", "--tolerance", "linear=0,0", "--ulp", code=1)
        course = self.picture("compare-course")
        self.assertGreater(course[DOT], 500)
        self.assertGreater(course[FAILED], 200)
        self.assertEqual(self.picture("compare-course", "rms_norm")[FAILED], self.picture("compare-ulp")[FAILED])
        self.assertGreater(self.picture("compare-ulp")[SMALL_ERROR], 20000)
        self.assertEqual(self.picture("compare-ulp", "softmax")[SMALL_ERROR], self.legend_points())
        differences, none = self.picture("compare-differences"), self.picture("compare-differences", "rms_norm")
        self.assertGreater(ink(differences), ink(none) + 2000)
        self.assertGreater(reddish(self.picture("compare-operators")), reddish(none))

    def legend_points(self):
        """The points of a legend's box, of which the corners are round."""
        return self.picture("compare-ulp", "nothing")[SMALL_ERROR]

    def test_a_fallback_has_its_costs_and_changes_and_what_is_to_blame(self):
        self.write("three.json", fallback_test.capture())
        subtle = ["--capture", "three.json", "--impl", "cpu", "--to", "reference", "--tolerance", "0"]
        self.keep("fallback-sim", *subtle, "--ops", "add")
        costs = self.picture("fallback")
        self.assertGreater(costs[ADVICE], 200)
        self.assertGreater(costs[ACCENT], 50)
        self.assertGreater(costs[FAILED], 20)  # a result beyond the tolerance
        self.assertEqual(self.picture("fallback", "sqrt")[ADVICE], 0)
        self.refuse("run", "bisect", "run has no bisection: diopi fallback-sim --bisect makes it")
        self.keep("fallback-sim", *subtle, "--bisect", code=1)
        self.assertGreater(ink(self.picture("bisect")), ink(self.picture("bisect", "softmax")) + 200)

    def test_a_run_with_tests_and_reports_shows_all(self):
        self.write("mine.json", case_file(group("mine", [[300]])))
        self.expect(0, "test", "--cases", "mine.json", "--run", "run")
        self.keep_comparison(code=0)
        self.assertGreater(self.picture("overview")[PASSED], 1000)
        self.assertGreater(self.picture("compare-course")[DOT], 20)
        # A kept report, and a journal, alone.
        self.assertGreater(self.picture("compare-course", run="run/compare.json")[DOT], 20)
        self.refuse("run/compare.json", "overview", "run/compare.json has no tests")
        self.refuse("run/journal.jsonl", "compare", "run/journal.jsonl has no comparison")

    def test_a_report_that_is_written_later_appears(self):
        window = self.start("report", "--gui", "--run", "run", "--gui-tab", "compare-course",
                            env=self.screen.environment())
        self.wait_for(lambda: self.screen.shows((255, 255, 255)), "the window is on the screen")
        self.keep_comparison("--tolerance", "add.Tensor=0,0")
        self.wait_for(lambda: self.screen.shows(FAILED, 40), "the window shows the difference")
        self.keep_comparison(code=0)
        self.wait_for(lambda: not self.screen.shows(FAILED, 40), "the window shows the report that replaced the first")
        self.assertTrue(self.screen.shows(DOT, 20))
        (self.folder / "run/compare.json").write_text("{")
        self.wait_for(lambda: not self.screen.shows(DOT, 20), "a damaged report is not shown")
        self.assertIsNone(window.popen.poll())

    def test_a_damaged_report_is_named(self):
        self.keep_comparison(code=0)
        self.edit("compare", lambda report: report["tensors"][0].pop("where"))
        self.refuse("run", "compare", "run/compare.json: the kept report of compare is damaged", "run it again")
        (self.folder / "run/compare.json").write_text('{"diopi_report": 1, "kind"')
        self.refuse("run", "compare", "run/compare.json is no report that diopi keeps")

    def test_names_are_shown_as_they_are(self):
        self.keep_profile("--no-roofs")
        plain = ink(self.picture("profile-calls"))

        def rename(report):
            report["calls"][0]["name"] = "##mm###%s%n"

        self.edit("profile", rename)
        self.assertGreater(ink(self.picture("profile-calls")), plain + 50)


class NoWindowTest(ProgramTest):
    def test_a_program_without_the_window_says_how_to_get_it(self):
        (self.folder / "bin").mkdir()
        program = self.folder / "bin/diopi"
        shutil.copy2(BINARY, program)
        run = subprocess.run([program, "report", "--gui"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 2)
        self.assertRegex(run.stderr, r"^diopi: error: this build has no window: apt-get install .*DIOPI_GUI=ON.*\n$")

    def test_options_of_the_window_need_it(self):
        self.expect(2, "report", "--gui-tab", "time", err="--gui-tab requires --gui")


if __name__ == "__main__":
    unittest.main()
