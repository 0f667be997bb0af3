#include "journal/merge.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "file/test_folder.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;
using testing::TestFolder;

CaseResult result(const std::string& id, Verdict verdict = Verdict::kPassed) {
    CaseResult made;
    made.case_id = id;
    made.verdict = verdict;
    return made;
}

/// Shard `number` of two; each has two of the cases a.1 to a.4.
NamedJournal shard(int number) {
    NamedJournal made;
    made.path = "shard_" + std::to_string(number);
    made.journal.header.backend = "cpu";
    made.journal.header.started = "2022-09-29T16:40:4" + std::to_string(number) + "+0800";
    made.journal.header.shard = std::to_string(number) + "/2";
    made.journal.header.cases = 2;
    made.journal.header.selection_cases = 4;
    made.journal.header.selection = "0123456789abcdef";
    made.journal.results =
        number == 1 ? std::vector{result("a.4"), result("a.1")} : std::vector{result("a.3"), result("a.2")};
    return made;
}

std::vector<std::string> ids_of(const Journal& journal) {
    std::vector<std::string> ids;
    for (const CaseResult& r : journal.results) ids.push_back(r.case_id);
    return ids;
}

std::string refusal(std::vector<NamedJournal> shards) {
    const auto merge = merge_journals(std::move(shards));
    REQUIRE_FALSE(merge.ok());
    CHECK(merge.error().code == Errc::kBadInput);
    return merge.error().message;
}

}  // namespace

TEST_CASE("merged shards are a whole run, its cases in natural order", "[store][merge]") {
    for (const auto& order : {std::pair{1, 2}, std::pair{2, 1}}) {
        const auto merge = merge_journals({shard(order.first), shard(order.second)});
        REQUIRE(merge.ok());
        CHECK(merge->gaps.empty());
        CHECK(merge->notes.empty());
        CHECK(ids_of(merge->journal) == std::vector<std::string>{"a.1", "a.2", "a.3", "a.4"});
        CHECK(merge->journal.header.shard.empty());
        CHECK(merge->journal.header.cases == 4);
        CHECK(merge->journal.header.started == "2022-09-29T16:40:41+0800");
    }
}

TEST_CASE("shards of different runs are refused, with the difference", "[store][merge]") {
    const auto with = [](auto change) {
        NamedJournal other = shard(2);
        change(other.journal.header);
        return refusal({shard(1), other});
    };
    CHECK(with([](RunHeader& h) { h.seed = 5; }) ==
          "shard_1 and shard_2 are not of one run: seed 0 and 5; merge the shards of one run");
    CHECK_THAT(with([](RunHeader& h) { h.backend = "gpu"; }), Contains("backend cpu and gpu"));
    CHECK_THAT(with([](RunHeader& h) { h.repeat = "--seed 3"; }), Contains("options '' and '--seed 3'"));
    CHECK_THAT(with([](RunHeader& h) { h.shard = "2/3"; }), Contains("number of shards 2 and 3"));
    CHECK_THAT(with([](RunHeader& h) { h.selection_cases = 5; }),
               Contains("selection 4 cases (checksum 0123456789abcdef) and 5"));
    CHECK_THAT(with([](RunHeader& h) { h.selection = "f"; }), Contains("4 cases (checksum f)"));
    CHECK_THAT(with([](RunHeader& h) { h.shard = ""; }), Contains("shard_2 is of a whole run"));
    CHECK_THAT(with([](RunHeader& h) { h.shard = "3/2"; }), Contains("shard_2 has a damaged header"));
    CHECK_THAT(refusal({}), Contains("no journals to merge"));
}

TEST_CASE("missing and unfinished shards are named", "[store][merge]") {
    auto merge = merge_journals({shard(1)});
    REQUIRE(merge.ok());
    CHECK(merge->gaps == std::vector<std::string>{"shard 2/2 is missing"});
    CHECK(ids_of(merge->journal) == std::vector<std::string>{"a.1", "a.4"});
    CHECK(merge->journal.header.cases == 4);

    NamedJournal incomplete = shard(1);
    incomplete.journal.results.pop_back();
    merge = merge_journals({incomplete, shard(2)});
    REQUIRE(merge.ok());
    CHECK(merge->gaps ==
          std::vector<std::string>{"shard 1/2 is not finished: 1 of its 2 cases have no result (shard_1)"});

    NamedJournal middle = shard(1);
    middle.journal.header.shard = "4/7";
    merge = merge_journals({middle});
    REQUIRE(merge.ok());
    CHECK(merge->gaps == std::vector<std::string>{"shards 1 to 3 of 7 are missing", "shards 5 to 7 of 7 are missing"});
}

TEST_CASE("if a shard occurs twice, the later or the finished one counts", "[store][merge]") {
    NamedJournal again = shard(2);
    again.path = "again";
    again.journal.results[0].seconds = 7;
    auto merge = merge_journals({shard(1), shard(2), again});
    REQUIRE(merge.ok());
    CHECK(merge->notes == std::vector<std::string>{"shard 2/2 occurs twice: again counts, shard_2 does not"});
    CHECK(merge->journal.results[2].seconds == 7);

    again.journal.results.pop_back();
    merge = merge_journals({shard(1), shard(2), again});
    REQUIRE(merge.ok());
    CHECK(merge->gaps.empty());
    CHECK(merge->notes == std::vector<std::string>{"shard 2/2 occurs twice: shard_2 counts, again does not"});

    again.journal.results[0].verdict = Verdict::kFailed;
    CHECK(refusal({shard(1), shard(2), again}) ==
          "shard_2 and again are both of shard 2/2 and differ: a.3 passed and failed; leave one of them out");
}

TEST_CASE("shards of different partitions are refused", "[store][merge]") {
    NamedJournal other = shard(2);
    other.journal.results[0].case_id = "a.4";
    CHECK_THAT(refusal({shard(1), other}), Contains("shard_1 and shard_2 both have a.4: different builds"));
    other = shard(2);
    other.journal.header.cases = 1;
    other.journal.results.pop_back();
    CHECK_THAT(refusal({shard(1), other}), Contains("all shards are there, but only 3 of the 4 cases"));
}

TEST_CASE("journals are found by file, by run folder and by the parent folder", "[store][merge]") {
    const TestFolder folder;
    for (const char* name : {"run/shard_10", "run/shard_9", "run/whole"}) {
        REQUIRE(JournalWriter::create(folder / name, shard(1).journal.header, shard(1).journal.results).ok());
    }
    const auto paths = [&](const std::string& place) {
        std::vector<std::string> found;
        const auto journals = read_journals({place}, folder / "run/whole");
        for (const NamedJournal& named : *journals) found.push_back(named.path);
        return found;
    };
    const std::string nine = journal_path(folder / "run/shard_9");
    CHECK(paths(nine) == std::vector{nine});
    CHECK(paths(folder / "run/shard_9") == std::vector{nine});
    CHECK(paths(folder / "run") == std::vector{nine, journal_path(folder / "run/shard_10")});
    CHECK(read_journals({nine}, "")->front().journal.results.size() == 2);
    CHECK_THAT(read_journals({folder / "nowhere"}, "").error().message, Contains("there is nothing at"));
    CHECK_THAT(read_journals({folder / "run/shard_9", folder.path()}, "").error().message,
               Contains("there is no journal in"));
}

TEST_CASE("the run at a place is a folder, a journal, or the shards in a folder", "[store][merge]") {
    const TestFolder folder;
    for (const int number : {1, 2}) {
        const NamedJournal part = shard(number);
        REQUIRE(JournalWriter::create(folder / part.path, part.journal.header, part.journal.results).ok());
    }
    const auto whole = read_run(folder.path());
    REQUIRE(whole.ok());
    CHECK(ids_of(whole->journal) == std::vector<std::string>{"a.1", "a.2", "a.3", "a.4"});
    for (const std::string& place : {folder / "shard_1", journal_path(folder / "shard_1")}) {
        const auto part = read_run(place);
        REQUIRE(part.ok());
        CHECK(ids_of(part->journal) == std::vector<std::string>{"a.1", "a.4"});
        CHECK(part->journal.header.cases == 2);
        CHECK(part->gaps.empty());
    }
    const auto none = read_run(folder / "nothing");
    REQUIRE_FALSE(none.ok());
    CHECK_THAT(none.error().message, Contains("there is nothing at"));
}

}  // namespace diopi
