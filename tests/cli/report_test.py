"""diopi report diff, diopi report matrix and diopi report --html."""
import csv
import html.parser
import io
import json
import re
import subprocess
import unittest

from browser import Browser
from program import ProgramTest, allocated, case_file, group, plugin

CRASHING = 4099
SIZES = [CRASHING, 300, 200]
FAULT = f"segv@{allocated(CRASHING)}"


class ReportTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("mine.json", case_file(group("mine", [[n] for n in SIZES], ops=("add", "mul"))))

    def run_cases(self, run, *args, code=0, **how):
        return self.expect(code, "test", "--cases", "mine.json", "--run", run, *args, **how)


class DiffTest(ReportTest):
    def test_a_crash_broke_and_the_way_back_mends(self):
        self.run_cases("a")
        self.run_cases("b", code=1, faults=FAULT)
        diff = self.expect(1, "report", "diff", "a", "b", "--json").json
        self.assertEqual([c["case"] for c in diff["broken"]], ["ops/mine.add.0", "ops/mine.mul.0"])
        self.assertEqual({c["after"] for c in diff["broken"]}, {"crashed"})
        self.assertEqual(diff["common"], len(SIZES) * 2)
        self.expect(1, "report", "diff", "a", "b",
                    out=["Broke\n", "first: diopi test --case ops/mine.add.0",
                         "6 cases in both runs: 2 broke, 4 with the same verdict\n"])
        self.expect(0, "report", "diff", "b", "a", "--quiet",
                    out="6 cases in both runs: 2 mended, 4 with the same verdict\n")

    def test_skipped_cases_have_lost_their_support(self):
        self.run_cases("a")
        self.run_cases("b", "--filter-dtype", "float64")
        self.expect(1, "report", "diff", "a", "b", out=["Lost support\n", "uses float64 (--filter-dtype)"])
        self.expect(0, "report", "diff", "b", "a", out="Gained support\n")

    def test_journals_and_folders_of_shards_are_runs(self):
        self.run_cases("whole")
        for number in (1, 2):
            self.run_cases(f"parts/{number}", "--shard", f"{number}/2")
        self.expect(0, "report", "diff", "whole/journal.jsonl", "parts",
                    out="6 cases in both runs: 6 with the same verdict\n")
        self.expect(0, "report", "diff", "whole", "parts/1", out="only in A\n")

    def test_what_is_no_run_is_refused(self):
        self.run_cases("a")
        self.write("foreign.jsonl", '{"some": "other file"}\n')
        self.expect(2, "report", "diff", "a", "nowhere", err="there is nothing at nowhere")
        self.expect(2, "report", "diff", "foreign.jsonl", "a", err="foreign.jsonl")
        self.expect(2, "report", "diff", "a", err="B is required")


class MatrixTest(ReportTest):
    def test_failures_and_gaps_are_in_their_cells(self):
        self.run_cases("run", code=1, faults=FAULT)
        self.expect(0, "report", "matrix", "--run", "run", "add",
                    out=["operator", "FAIL", "1 pairs of operator and dtype, forward on cpu: 1 FAIL\n"])
        rows = self.expect(0, "report", "matrix", "--run", "run", "--json").json["rows"]
        self.assertEqual([row["operator"] for row in rows], ["add", "mul"])
        self.assertEqual(rows[0]["cells"]["forward"]["failed"], 1)
        self.assertEqual(rows[0]["cells"]["forward"]["passed"], 2)
        self.assertNotIn("strided", rows[0]["cells"])
        table = self.expect(0, "report", "matrix", "--run", "run", "--format", "csv").out
        self.assertEqual(next(csv.DictReader(io.StringIO(table)))["forward failed"], "1")
        self.expect(0, "report", "matrix", "--run", "run", "--format", "markdown", out="| add | FAIL |")

    def test_a_strided_run_fills_the_strided_column(self):
        self.run_cases("run", "--strided")
        rows = self.expect(0, "report", "matrix", "--run", "run", "--json").json["rows"]
        self.assertEqual(rows[0]["cells"]["strided"]["support"], "yes")

    def test_coverage_compares_the_standard_with_library_and_run(self):
        self.run_cases("run", "--impl", "reference")
        functions = self.expect(0, "report", "matrix", "--run", "run", "--coverage", "--json").json["functions"]
        by_name = {f["function"]: f for f in functions}
        self.assertEqual(by_name["diopiAdd"]["calls"], len(SIZES))
        self.assertEqual(by_name["diopiAdd"]["passed"], len(SIZES))
        self.assertTrue(by_name["diopiRelu"]["there"])
        self.assertEqual(by_name["diopiRelu"]["calls"], 0)
        self.expect(0, "report", "matrix", "--run", "run", "--coverage", out=["reference", "No case of the run reaches"])
        self.expect(2, "report", "matrix", "--run", "run", "--coverage", "--impl", "nothing", err="nothing")

    def test_a_run_that_is_not_there_says_what_to_do(self):
        self.expect(2, "report", "matrix", "--run", "nowhere", err="run diopi test first")
        self.run_cases("run")
        self.expect(2, "report", "matrix", "--run", "run", "adx", err="the run has no case of 'adx'")


class Element(html.parser.HTMLParser):
    """The page after its scripts ran: how often each tag occurs, the text of the ids, and what would be loaded."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.loads, self.text = {}, [], {}
        self.path, self.templates = [], 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.templates += tag == "template"
        if self.templates:
            return
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.loads += [attrs[name] for name in ("src", "href") if name in attrs and not attrs[name].startswith("#")]
        if "id" in attrs:
            self.path.append(attrs["id"])

    def handle_endtag(self, tag):
        self.templates -= tag == "template"

    def handle_data(self, data):
        if self.templates:
            return
        for name in self.path[-1:]:
            self.text[name] = self.text.get(name, "") + data


class PageTest(ReportTest):
    """A page in headless Chromium."""

    def page(self, run):
        self.diopi("report", "--run", run, "--html", "page.html", "--quiet")
        return (self.folder / "page.html").read_text()

    def open_page(self, run=1):
        """The page as Chromium shows it, with the run of that number; an error on its console fails."""
        seen = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                              f"--user-data-dir={self.folder}/chromium", "--virtual-time-budget=5000", "--dump-dom",
                              f"file://{self.folder}/page.html#{run}"], capture_output=True, text=True, timeout=120)
        self.assertNotIn("CONSOLE", seen.stderr)
        self.assertIn("<main id=", seen.stdout, seen.stderr)
        return seen.stdout

    def test_the_page_shows_verdicts_failures_support_and_times(self):
        self.run_cases("run", code=1, faults=FAULT)
        self.page("run")
        shown = Element(self.open_page())
        self.assertEqual(shown.tags["details"], 2)
        self.assertEqual(shown.tags["section"], 5)
        self.assertIn("4 passed, 2 crashed", shown.text["overview-title"])
        self.assertIn("diopi test --case ops/mine.add.0", shown.text["failure-list"])
        self.assertIn("FAIL", shown.text["matrix-table"])
        self.assertIn("add", shown.text["accuracy-table"])
        self.assertIn("mul", shown.text["time-table"])
        self.assertEqual(shown.loads, [])

    def test_the_page_is_used_by_keys_alone_and_printed_on_a4(self):
        self.run_cases("run", code=1, faults=FAULT)
        self.page("run")
        with Browser(f"file://{self.folder}/page.html", self.folder) as browser:
            browser.wait_for("document.querySelector('#time-table tbody tr') !== null")
            browser.press_until("document.activeElement.id === 'filter'")
            browser.type("mul")
            names = "[...document.querySelectorAll('#time-table tbody th')].map((cell) => cell.textContent).join()"
            browser.wait_for(f"{names} === 'mul'")
            browser.press_until("document.activeElement.matches('#matrix-table td button')")
            browser.press("Enter")
            browser.wait_for("document.getElementById('cases').open")
            self.assertIn("ops/mine.mul.0", browser.value("document.getElementById('cases').textContent"))
            browser.press("Escape")
            browser.wait_for("!document.getElementById('cases').open")
            browser.press_until("document.activeElement.matches('#time-table th button')")
            browser.press(" ")
            browser.wait_for("document.activeElement.closest('th').getAttribute('aria-sort') !== null")
            unnamed = "[...document.querySelectorAll('button, [role=img]')].filter((each) => " \
                      "!(each.textContent.trim() || each.getAttribute('aria-label'))).length"
            self.assertEqual(browser.value(unnamed), 0)
            printed = browser.printed()
        # 210 by 297 mm in points.
        sizes = {(float(x), float(y)) for x, y in re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", printed)}
        self.assertEqual({(round(x), round(y)) for x, y in sizes}, {(595, 842)})

    def test_an_opened_failure_shows_where_its_mismatches_lie(self):
        self.expect(1, "test", "--case", "ops/relu.relu.17", "--impl", plugin("rule_unwritten"), "--run", "run")
        self.page("run")
        shown = Element(self.open_page())
        self.assertEqual(shown.tags["path"], 2)  # right and wrong cells
        self.assertIn("All elements by their error in ulp", shown.text["failure-list"])

    def test_the_page_of_a_difference_has_its_changes(self):
        self.run_cases("a")
        self.run_cases("b", code=1, faults=FAULT)
        self.expect(1, "report", "diff", "a", "b", "--html", "page.html", "--quiet")
        shown = Element(self.open_page())
        self.assertIn("2 broke", shown.text["changes-summary"])
        self.assertEqual(shown.text["changes-table"].count("broke"), 2)
        self.page("b")
        self.assertNotIn("operator", Element(self.open_page()).text.get("changes-table", ""))

    def test_markup_in_names_stays_text(self):
        self.run_cases("run", code=1, faults=FAULT)
        journal = self.folder / "run/journal.jsonl"
        evil = "</script><img src=x onerror=document.title=1>"
        journal.write_text(journal.read_text().replace("ops/mine.add", f"ops/{evil}.add"))
        self.assertEqual(self.page("run").count("</script>"), 2)
        dom = self.open_page()
        self.assertNotIn("img", Element(dom).tags)
        self.assertNotIn("<title>1<", dom)
        self.assertIn("&lt;img", dom)

    def test_a_page_stands_alone_and_lists_every_case(self):
        self.run_cases("run")
        text = self.page("run")
        self.assertNotIn("{{", re.sub(r"<script.*", "", text, flags=re.S))
        self.assertEqual(re.findall("https?://[^\"]*", text), ["http://www.w3.org/2000/svg"])
        data = json.loads(re.search(r'id="data">(.*?)</script>', text).group(1))[0]
        self.assertEqual(data["counts"], [len(SIZES) * 2, 0, 0, 0, 0, 0, 0])
        self.assertEqual({group[5] for group in data["groups"]}, {"0-2"})
        self.assertEqual(data["prefixes"], ["ops/mine.add.", "ops/mine.mul."])

    def test_a_page_that_cannot_be_written_is_refused_before_the_report(self):
        self.run_cases("run")
        self.expect(2, "report", "--run", "run", "--html", "run", err="run")

    def measure(self, command, *args, code=0):
        return self.expect(code, command, *args, "--run", "run")

    def test_the_page_of_a_profile_has_roofs_ratios_and_calls(self):
        self.measure("profile", "mm", "--shape", "64x64", "64x64", "--passes", "2", "--max-time", "0.05", "--against", "reference")
        self.expect(0, "report", "--run", "run", "--html", "page.html", out="diopi profile: cpu: 1 call measured on cpu, hot.\n")
        shown = Element(self.open_page())
        self.assertEqual(shown.tags["section"], 5)
        self.assertIn("Against reference: 1 call", shown.text["ratios-summary"])
        self.assertRegex(shown.text["ratios-table"], "FASTER|SAME|SLOWER|AMBIGUOUS")
        self.assertIn("1 of 1 call count operations", shown.text["roofline-note"])
        self.assertEqual(shown.tags["circle"], 1)
        self.assertIn("mm", shown.text["operators-table"])
        self.assertIn("[64, 64] [64, 64]", shown.text["calls-table"])
        self.assertEqual(shown.loads, [])

    def test_the_page_of_a_models_profile_has_each_call(self):
        self.expect(0, "profile", "--model", "mobilenet_v2", "--max-time", "0.002", "--passes", "1", "--no-roofs", "--run", "run",
                    timeout=300)
        calls = len(json.loads((self.folder / "run/profile.json").read_text())["report"]["calls"])
        self.page("run")
        shown = Element(self.open_page())
        self.assertGreater(calls, 50)
        self.assertIn(f"{calls} calls measured on cpu", shown.text["overview-title"])
        self.assertIn("conv2d", shown.text["operators-table"])
        self.assertEqual(shown.loads, [])

    def test_the_page_of_as_many_cases_as_the_standard_has(self):
        """The cases of a small run, with the names of all: a whole run would take minutes."""
        self.run_cases("run", code=1, faults=FAULT)
        path = self.folder / "run/journal.jsonl"
        header, *results = map(json.loads, path.read_text().splitlines())
        groups = self.expect(0, "gen", "--dry-run", "--json").json["operators"]["groups"]
        lines = [json.dumps({**header, "cases": sum(group["total"] for group in groups.values())})]
        for name, group in groups.items():
            for i in range(group["total"]):
                result = {**results[i % len(results)], "case": f"ops/{name}.{name}.{i}", "op": name}
                lines.append(json.dumps({**result, "steps": [{**step, "function": name} for step in result["steps"]]}))
        path.write_text("\n".join(lines) + "\n")
        self.assertLess(len(self.page("run").encode()), 3_000_000)
        shown = Element(self.open_page())
        self.assertIn("14143 cases", shown.text["overview-title"])
        for name in groups:
            self.assertIn(name, shown.text["matrix-table"])
        self.assertGreater(shown.tags["details"], 100)
        self.assertEqual(shown.loads, [])

    def test_the_page_of_a_capture_has_its_timeline(self):
        self.measure("profile", "--capture", "decoder", "--run-times", "1", "--no-roofs")
        self.page("run")
        shown = Element(self.open_page())
        self.assertNotIn("roofline-chart", shown.text)
        self.assertGreater(shown.tags["rect"], 40)
        self.assertIn("layer", shown.text["timeline-chart"])

    def test_the_page_of_a_comparison_has_its_differences_and_its_course(self):
        self.measure("compare", "--capture", "decoder", "--tolerance", "linear=0,0", code=1)
        self.expect(1, "report", "--run", "run", "--html", "page.html", out="tensors differ, the first at call")
        shown = Element(self.open_page())
        self.assertGreater(shown.tags["details"], 0)
        self.assertIn("linear", shown.text["difference-list"])
        self.assertGreater(shown.tags["circle"], 100)
        self.assertIn("layer", shown.text["course-chart"])

    def test_the_page_of_a_fallback_has_its_costs_and_changes(self):
        self.measure("fallback-sim", "--capture", "decoder", "--ops", "linear", "--run-times", "1")
        self.page("run")
        shown = Element(self.open_page())
        self.assertIn("calls fall back to cpu", shown.text["overview-title"])
        self.assertIn("forced", shown.text["costs-table"])

    def test_several_runs_make_one_page_that_shows_one_at_a_time(self):
        self.run_cases("tested")
        self.measure("compare", "add", "--cases", "mine.json")
        self.expect(0, "report", "--run", "tested", "--run", "run", "--html", "page.html",
                    out=["diopi test: cpu: 6 cases: 6 passed", "diopi compare: cpu and reference", "page.html written\n"])
        first, second = Element(self.open_page(1)), Element(self.open_page(2))
        self.assertIn("6 passed", first.text["overview-title"])
        self.assertIn("0 of 9 tensors differ", second.text["overview-title"])
        for shown in (first, second):
            self.assertIn("compare add --cases mine.json", shown.text["runs"])
            self.assertEqual(shown.tags["title"], 1)
        self.expect(2, "report", "--run", "tested", "--run", "run", err="add --html FILE")
        self.expect(2, "report", "--run", "tested", "--run", "run", "--html", "page.html", "--json", err="a single --run")
        self.expect(2, "report", "--run", "tested", "--run", "nowhere", "--html", "page.html", err="there is nothing at nowhere")

    def test_a_folder_with_all_makes_one_page_and_damage_is_named(self):
        self.run_cases("run")
        self.measure("compare", "add", "--cases", "mine.json")
        self.expect(0, "report", "--run", "run", "--html", "page.html", out="6 cases: 6 passed")
        self.assertIn("diopi: 2 runs", (self.folder / "page.html").read_text())
        self.page("run/compare.json")
        self.assertIn("<title>diopi compare", (self.folder / "page.html").read_text())
        (self.folder / "run/compare.json").write_text('{"diopi_report": 1, "kind"')
        self.expect(2, "report", "--run", "run", "--html", "page.html", err="run/compare.json is no report that diopi keeps")
        self.expect(0, "report", "--run", "run", out="6 cases: 6 passed")


if __name__ == "__main__":
    unittest.main()
