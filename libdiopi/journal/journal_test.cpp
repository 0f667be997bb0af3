#include "journal/journal.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "file/test_folder.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;
using testing::FullDisk;
using testing::TestFolder;

CaseResult sample(const std::string& id) {
    CaseResult result;
    result.case_id = id;
    result.suite = "ops";
    result.op = "batch_norm";
    result.dtype = "float32";
    result.verdict = Verdict::kFailed;
    result.reason = "a \"quoted\" reason\nwith two lines";
    result.tensors = {{"input", "float32", {32, 16, 112, 112}}, {"scalar", "int64", {}}};
    result.seconds = 1.25;
    StepResult step{"batch_norm_backward", "backward", Verdict::kFailed, "too far", {}, 0.1};
    Deviation d;
    d.output = "grad_input";
    d.accuracy_class = 'D';
    d.numel = 100;
    d.mismatches = 3;
    d.max_ulp = std::numeric_limits<double>::infinity();
    d.max_rel = -std::numeric_limits<double>::infinity();
    d.cosine = std::nan("");
    d.max_abs = 0.1;
    d.worst_index = {1, 2, 3};
    d.worst_actual = 5e-324;
    d.where = "last row";
    d.picture = {"..", "#9"};
    d.ulp_counts = {97, 0, 0, 0, 0, 0, 0, 0, 2, 1};
    step.deviations.push_back(d);
    result.steps.push_back(step);
    return result;
}

RunHeader header() {
    RunHeader header{{"diopi", "test", "--fname", "add"}, "--seed 42", "cpu", 42, "2022-09-29T16:40:40+0800", 2};
    header.environment = "diopi on a machine";
    return header;
}

void append_raw(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::app) << text; }

std::set<std::string> cases_in(const Journal& journal) {
    std::set<std::string> cases;
    for (const CaseResult& result : journal.results) cases.insert(result.case_id);
    return cases;
}

}  // namespace

TEST_CASE("a line has the names of bundles, and older lines are read without them", "[store][journal]") {
    CaseResult result = sample("ops/a.b.1");
    const std::string without = to_json_line(result);
    CHECK_THAT(without, !Contains("bundle"));
    REQUIRE(from_json_line(without));
    CHECK(from_json_line(without)->bundle.empty());
    CHECK(from_json_line(without)->steps[0].bundle.empty());
    result.bundle = "bad/a-forward.h5 bad/a-backward.h5";
    result.steps[0].bundle = "bad/a-inplace.h5";
    const auto back = from_json_line(to_json_line(result));
    REQUIRE(back);
    CHECK(back->bundle == result.bundle);
    CHECK(back->steps[0].bundle == result.steps[0].bundle);
}

TEST_CASE("a line has the kind of a failure, and older lines are read without it", "[store][journal]") {
    CaseResult result = sample("ops/a.b.1");
    const std::string older = to_json_line(result);
    CHECK_THAT(older, !Contains("kind"));
    CHECK(from_json_line(older)->kind == FailureKind::kNone);
    CHECK(from_json_line(older)->steps[0].kind == FailureKind::kNone);
    result.kind = FailureKind::kPrinted;
    result.steps[0].kind = FailureKind::kStrayWrite;
    const std::string line = to_json_line(result);
    CHECK_THAT(line, Contains("\"kind\":\"a stray write\""));
    CHECK(from_json_line(line)->kind == FailureKind::kPrinted);
    CHECK(from_json_line(line)->steps[0].kind == FailureKind::kStrayWrite);
}

TEST_CASE("a journal gives back what was written", "[store][journal]") {
    const TestFolder folder;
    {
        auto writer = JournalWriter::create(folder / "run", header());
        REQUIRE(writer.ok());
        REQUIRE(writer->append(sample("ops/a.b.1")).ok());
        REQUIRE(writer->append(sample("ops/a.b.2")).ok());
    }
    const auto journal = read_journal(journal_path(folder / "run"));
    REQUIRE(journal.ok());
    CHECK(journal->header.command == header().command);
    CHECK(journal->header.seed == 42);
    CHECK(journal->header.started == "2022-09-29T16:40:40+0800");
    CHECK(journal->header.environment == "diopi on a machine");
    CHECK(journal->notes.empty());
    REQUIRE(journal->results.size() == 2);
    CHECK(cases_in(*journal) == std::set<std::string>{"ops/a.b.1", "ops/a.b.2"});
    const CaseResult& result = journal->results[0];
    CHECK(to_json_line(result) == to_json_line(sample("ops/a.b.1")));
    CHECK(result.reason == sample("").reason);
    const Deviation& d = result.steps.at(0).deviations.at(0);
    CHECK((std::isinf(d.max_ulp) && d.max_ulp > 0));
    CHECK((std::isinf(d.max_rel) && d.max_rel < 0));
    CHECK(std::isnan(d.cosine));
    CHECK(d.worst_actual == 5e-324);
    CHECK(d.accuracy_class == 'D');
}

TEST_CASE("a journal has its shard, and one without a shard is of a whole run", "[store][journal]") {
    const TestFolder folder;
    RunHeader of_shard = header();
    of_shard.shard = "2/4";
    of_shard.selection_cases = 8;
    of_shard.selection = "0123456789abcdef";
    REQUIRE(JournalWriter::create(folder / "run", of_shard, {sample("a"), sample("b")}).ok());
    const auto journal = read_journal(journal_path(folder / "run"));
    REQUIRE(journal.ok());
    CHECK(journal->header.shard == "2/4");
    CHECK(journal->header.selection_cases == 8);
    CHECK(journal->header.selection == "0123456789abcdef");
    CHECK(cases_in(*journal) == std::set<std::string>{"a", "b"});

    append_raw(folder / "old.jsonl",
               R"({"diopi_journal":1,"command":[],"repeat":"","backend":"cpu","seed":0,"started":"","cases":3})"
               "\n");
    const auto old = read_journal(folder / "old.jsonl");
    REQUIRE(old.ok());
    CHECK(old->header.cases == 3);
    CHECK(old->header.shard.empty());
    CHECK(old->header.selection_cases == 0);
}

TEST_CASE("an incomplete last line is ignored, and cut off on resume", "[store][journal]") {
    const TestFolder folder;
    const std::string path = journal_path(folder.path());
    REQUIRE(JournalWriter::create(folder.path(), header())->append(sample("a")).ok());
    append_raw(path, to_json_line(sample("b")).substr(0, 40));
    CHECK(read_journal(path)->notes == std::vector{path + ": its last line is incomplete, and is left out"});
    CHECK(read_journal(path)->results.size() == 1);
    REQUIRE(JournalWriter::resume(folder.path())->append(sample("c")).ok());
    const auto journal = read_journal(path);
    CHECK(journal->notes.empty());
    CHECK(cases_in(*journal) == std::set<std::string>{"a", "c"});
}

TEST_CASE("damaged lines in between are counted, and a later result replaces", "[store][journal]") {
    const TestFolder folder;
    const std::string path = journal_path(folder.path());
    auto writer = JournalWriter::create(folder.path(), header());
    REQUIRE(writer->append(sample("a")).ok());
    append_raw(path, "{\"case\": 3}\nnonsense\n");
    CaseResult passed = sample("a");
    passed.verdict = Verdict::kPassed;
    REQUIRE(writer->append(passed).ok());
    const auto journal = read_journal(path);
    REQUIRE(journal.ok());
    CHECK(journal->notes == std::vector{path + ": 2 damaged lines are left out"});
    REQUIRE(journal->results.size() == 1);
    CHECK(journal->results[0].verdict == Verdict::kPassed);
}

TEST_CASE("a full disk is an error and leaves the journal whole", "[store][journal]") {
    const TestFolder folder;
    const std::string path = journal_path(folder.path());
    auto writer = JournalWriter::create(folder.path(), header());
    REQUIRE(writer->append(sample("a")).ok());
    Status status;
    {
        const FullDisk full(std::filesystem::file_size(path) + 30);
        status = writer->append(sample("b"));
    }
    REQUIRE_FALSE(status.ok());
    CHECK_THAT(status.message(), Contains(path) && Contains("raise the limit of file sizes"));
    CHECK(read_journal(path)->notes.empty());
    CHECK(read_journal(path)->results.size() == 1);
    CHECK(writer->append(sample("b")).ok());
    CHECK(read_journal(path)->results.size() == 2);
}

TEST_CASE("two runs do not write to one journal", "[store][journal]") {
    const TestFolder folder;
    auto writer = JournalWriter::create(folder.path(), header());
    REQUIRE(writer.ok());
    const pid_t child = ::fork();
    if (child == 0) {
        const bool refused =
            !JournalWriter::resume(folder.path()).ok() && !JournalWriter::create(folder.path(), header()).ok();
        ::_exit(refused ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
}

TEST_CASE("a file that is not a journal is refused with its name", "[store][journal]") {
    const TestFolder folder;
    CHECK_THAT(read_journal(folder / "none").error().message, Contains("No such file"));
    std::ofstream(folder / "other.jsonl") << "{\"a\": 1}\n";
    CHECK_THAT(read_journal(folder / "other.jsonl").error().message, Contains("not a run journal"));
    std::ofstream(folder / "new.jsonl") << "{\"diopi_journal\": 99}\n";
    CHECK_THAT(read_journal(folder / "new.jsonl").error().message, Contains("newer diopi"));
}

TEST_CASE("bytes that are not UTF-8 do not stop the journal", "[store][journal]") {
    CaseResult result = sample("a");
    result.reason = "vendor said \xff\xfe";
    CHECK_THAT(to_json_line(result), Contains("vendor said"));
}

}  // namespace diopi
