#include "check/verdict.hpp"

#include <catch2/catch.hpp>
#include <set>

using namespace diopi;

TEST_CASE("every kind of failure has its own name, by which it is found again", "[check][verdict]") {
    std::set<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(FailureKind::kError); ++i) {
        const auto kind = static_cast<FailureKind>(i);
        CHECK(failure_kind(name(kind)) == kind);
        names.insert(name(kind));
    }
    CHECK(names.size() == 17);
    CHECK(name(FailureKind::kStrayWrite) == "a stray write");
    CHECK(failure_kind("of a later version") == FailureKind::kNone);
    CHECK(failure_kind("") == FailureKind::kNone);
}

TEST_CASE("an error is a failure, and one of memory is recognised by its message", "[check][verdict]") {
    CHECK(failure_of(failed("diopiErrorOccurred")).kind == FailureKind::kError);
    CHECK(failure_of(failed("diopiErrorOccurred: out of memory: 9 bytes")).kind == FailureKind::kOutOfMemory);
    CHECK(failure_of(failed("no such thing")).reason == "no such thing");
    CHECK(Failure().ok());
    CHECK_FALSE(failure_of(failed("")).ok());
}
