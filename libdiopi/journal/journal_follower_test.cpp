#include "journal/journal_follower.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "file/test_folder.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;
using testing::TestFolder;

CaseResult ended_case(const std::string& id, Verdict verdict = Verdict::kPassed) {
    CaseResult result;
    result.case_id = id;
    result.suite = "ops";
    result.op = "add";
    result.dtype = "float32";
    result.verdict = verdict;
    return result;
}

RunHeader followed_run(uint64_t seed) {
    RunHeader header;
    header.backend = "cpu";
    header.seed = seed;
    header.cases = 4;
    return header;
}

void write_raw(const std::string& path, const std::string& text, std::ios::openmode mode = std::ios::app) {
    std::ofstream(path, std::ios::binary | mode) << text;
}

bool changes(JournalFollower& follower) {
    const auto changed = follower.poll();
    REQUIRE(changed.ok());
    return *changed;
}

/// The text of a file.
std::string contents_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a follower waits for a journal and reads the cases as they are appended", "[store][journal]") {
    const TestFolder folder;
    JournalFollower follower(journal_path(folder / "run"));
    CHECK_FALSE(changes(follower));
    CHECK_FALSE(follower.has_run());
    auto writer = JournalWriter::create(folder / "run", followed_run(7));
    REQUIRE(writer.ok());
    CHECK(changes(follower));
    CHECK(follower.journal().header.seed == 7);
    CHECK_FALSE(changes(follower));
    for (int64_t i = 0; i < 3; ++i) {
        REQUIRE(writer->append(ended_case("ops/a.add." + std::to_string(i))).ok());
        CHECK(changes(follower));
        CHECK(follower.journal().results.size() == static_cast<size_t>(i) + 1);
    }
    REQUIRE(writer->append(ended_case("ops/a.add.1", Verdict::kFailed)).ok());
    CHECK(changes(follower));
    REQUIRE(follower.journal().results.size() == 3);
    CHECK(follower.journal().results[1].verdict == Verdict::kFailed);
}

TEST_CASE("a follower leaves an incomplete line until its end is there", "[store][journal]") {
    const TestFolder folder;
    const std::string path = journal_path(folder / "run");
    REQUIRE(JournalWriter::create(folder / "run", followed_run(1)).ok());
    JournalFollower follower(path);
    CHECK(changes(follower));
    const std::string line = to_json_line(ended_case("ops/a.add.0")) + "\n";
    write_raw(path, line.substr(0, 20));
    CHECK_FALSE(changes(follower));
    write_raw(path, line.substr(20));
    CHECK(changes(follower));
    CHECK(follower.journal().results.size() == 1);
    // A run that is resumed removes the incomplete line of the former one.
    write_raw(path, line.substr(0, 20));
    CHECK_FALSE(changes(follower));
    REQUIRE(JournalWriter::resume(folder / "run")->append(ended_case("ops/a.add.1")).ok());
    CHECK(changes(follower));
    CHECK(follower.journal().results.size() == 2);
}

TEST_CASE("a follower begins anew with a journal that replaced the former one", "[store][journal]") {
    const TestFolder folder;
    const std::string path = journal_path(folder / "run");
    REQUIRE(JournalWriter::create(folder / "run", followed_run(1), {ended_case("a"), ended_case("b")}).ok());
    JournalFollower follower(path);
    CHECK(changes(follower));
    CHECK(follower.journal().results.size() == 2);
    REQUIRE(JournalWriter::create(folder / "run", followed_run(2), {ended_case("c")}).ok());
    CHECK(changes(follower));
    CHECK(follower.journal().header.seed == 2);
    REQUIRE(follower.journal().results.size() == 1);
    CHECK(follower.journal().results[0].case_id == "c");
    // The same file, written anew by a copy.
    REQUIRE(JournalWriter::create(folder / "other", followed_run(3), {ended_case("d"), ended_case("e")}).ok());
    write_raw(path, contents_of(journal_path(folder / "other")), std::ios::trunc);
    CHECK(changes(follower));
    CHECK(follower.journal().header.seed == 3);
    CHECK(follower.journal().results.size() == 2);
    // A run whose folder is removed stays as it was.
    std::filesystem::remove_all(folder / "run");
    CHECK_FALSE(changes(follower));
    CHECK(follower.journal().results.size() == 2);
}

TEST_CASE("a follower takes a long journal in parts, and a line longer than a part at once", "[store][journal]") {
    const TestFolder folder;
    CaseResult long_line = ended_case("b");
    long_line.reason = std::string(10000, 'x');
    REQUIRE(JournalWriter::create(folder / "run", followed_run(1), {ended_case("a"), long_line, ended_case("c")}).ok());
    JournalFollower follower(journal_path(folder / "run"));
    int parts = 0;
    do {
        REQUIRE(follower.poll(400).ok());
        ++parts;
    } while (follower.has_more());
    CHECK(follower.journal().results.size() == 3);
    CHECK(parts > 2);
}

TEST_CASE("a file that is no journal is an error until one replaces it", "[store][journal]") {
    const TestFolder folder;
    write_raw(folder / "journal.jsonl", "{\"some\": \"other file\"}\n");
    JournalFollower follower(folder / "journal.jsonl");
    const auto refused = follower.poll();
    REQUIRE_FALSE(refused.ok());
    CHECK_THAT(refused.error().message, Contains("is not a run journal"));
    REQUIRE(JournalWriter::create(folder.path(), followed_run(5)).ok());
    CHECK(changes(follower));
    CHECK(follower.journal().header.seed == 5);
}

TEST_CASE("a follower knows whether a run is writing", "[store][journal]") {
    const TestFolder folder;
    int ready[2], done[2];
    REQUIRE((::pipe(ready) == 0 && ::pipe(done) == 0));
    const pid_t child = ::fork();
    if (child == 0) {
        char byte = 0;
        const auto writer = JournalWriter::create(folder / "run", followed_run(1));
        const bool ok = writer.ok() && ::write(ready[1], "r", 1) == 1 && ::read(done[0], &byte, 1) == 1;
        ::_exit(ok ? 0 : 1);
    }
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    JournalFollower follower(journal_path(folder / "run"));
    CHECK_FALSE(follower.is_active());
    CHECK(changes(follower));
    CHECK(follower.is_active());
    REQUIRE(::write(done[1], "d", 1) == 1);
    int status = 1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK_FALSE(follower.is_active());
    for (const int fd : {ready[0], ready[1], done[0], done[1]}) ::close(fd);
}

}  // namespace diopi
