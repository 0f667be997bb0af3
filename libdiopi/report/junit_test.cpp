#include "report/junit.hpp"

#include <catch2/catch.hpp>

namespace diopi {

TEST_CASE("XML text is escaped, without characters that XML forbids", "[report][junit]") {
    CHECK(xml_escaped("a < b && \"c\" > d") == "a &lt; b &amp;&amp; &quot;c&quot; &gt; d");
    CHECK(xml_escaped(std::string("bell\x07 esc\x1b[31m nul\0.", 20)) == "bell esc[31m nul.");
    CHECK(xml_escaped("two\nlines\tand a tab") == "two&#10;lines&#9;and a tab");
    CHECK(xml_escaped("größe ✓") == "größe ✓");
    CHECK(xml_escaped("broken \xff\xc3 \xed\xa0\x80 \xef\xbf\xbf.") == "broken ?? ??? ?.");
}

TEST_CASE("JUnit has a suite per operator and the command that repeats a failure", "[report][junit]") {
    CaseResult passed;
    passed.case_id = "ops/g.abs.0";
    passed.op = "abs";
    passed.seconds = 0.5;
    CaseResult failed;
    failed.case_id = "ops/g.relu.1";
    failed.op = "relu";
    failed.dtype = "float32";
    failed.verdict = Verdict::kFailed;
    failed.steps = {{"relu", "forward", Verdict::kFailed, "1 < 2", {}, 0}};
    CaseResult skipped = passed;
    skipped.case_id = "ops/g.abs.1";
    skipped.verdict = Verdict::kSkipped;
    skipped.reason = "dtype";
    CHECK(junit_xml({failed, passed, skipped}, "") ==
          R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="diopi" tests="3" failures="1" errors="0" skipped="1" time="1.000000">
  <testsuite name="abs" tests="2" failures="0" errors="0" skipped="1" time="1.000000">
    <testcase classname="diopi.abs" name="ops/g.abs.0" time="0.500000"/>
    <testcase classname="diopi.abs" name="ops/g.abs.1" time="0.500000">
      <skipped message="dtype"/>
    </testcase>
  </testsuite>
  <testsuite name="relu" tests="1" failures="1" errors="0" skipped="0" time="0.000000">
    <testcase classname="diopi.relu" name="ops/g.relu.1" time="0.000000">
      <failure message="1 &lt; 2" type="failed">Run diopi_functions.relu failed.   TestTag: [float32, forward]  TensorInfo : []&#10;1 &lt; 2&#10;diopi test --case ops/g.relu.1</failure>
    </testcase>
  </testsuite>
</testsuites>
)");
}

TEST_CASE("a crash is an error in JUnit", "[report][junit]") {
    CaseResult crashed;
    crashed.case_id = "a";
    crashed.op = "relu";
    crashed.verdict = Verdict::kCrashed;
    crashed.reason = "SIGSEGV";
    CHECK(junit_xml({crashed}, "").find("<error message=\"SIGSEGV\" type=\"crashed\">") != std::string::npos);
}

}  // namespace diopi
