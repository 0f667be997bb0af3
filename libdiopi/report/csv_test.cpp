#include "report/csv.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "file/atomic_file.hpp"
#include "file/test_folder.hpp"

namespace diopi {

namespace {

constexpr const char* kHeader =
    "index,case,function,verdict,dtype,step,tensor_info,max_ulp,p99_ulp,max_abs_diff,max_rel_diff,cosine_similarity,"
    "mismatches,numel,worst_index,actual,expected,where,reason,repeat,bundle\r\n";

CaseResult failing_add() {
    CaseResult result;
    result.case_id = "ops/binary.add.17";
    result.op = "add";
    result.dtype = "float16";
    result.verdict = Verdict::kFailed;
    result.tensors = {{"input", "float16", {4}}};
    Deviation d;
    d.numel = 4;
    d.mismatches = 1;
    d.max_ulp = 2.5;
    d.max_abs = std::nan("");
    d.worst_index = {3};
    d.worst_actual = 0.1;
    d.where = "last element";
    result.steps = {{"add", "forward", Verdict::kFailed, "said \"no\", twice", {d}, 0}};
    return result;
}

}  // namespace

TEST_CASE("CSV fields are quoted by RFC 4180", "[report][csv]") {
    CHECK(csv_field("plain text") == "plain text");
    CHECK(csv_field("") == "");
    CHECK(csv_field("a,b") == "\"a,b\"");
    CHECK(csv_field("a\"b") == "\"a\"\"b\"");
    CHECK(csv_field("a\nb") == "\"a\nb\"");
    CHECK(csv_row({"a", "b,c", ""}) == "a,\"b,c\",\r\n");
}

TEST_CASE("a failing case is one row with its figures and the command that repeats it", "[report][csv]") {
    CHECK(error_csv({failing_add()}, "--seed 7") ==
          std::string(kHeader) +
              "1,ops/binary.add.17,add,failed,float16,forward,\"[(input, float16, "
              "(4,))]\",2.5,0,nan,0,1,1,4,\"(3,)\",0.1,"
              "0,last element,\"said \"\"no\"\", twice\",diopi test --case ops/binary.add.17 --seed 7,\r\n");
}

TEST_CASE("a case without a comparison has empty figures and as many columns", "[report][csv]") {
    CaseResult skipped;
    skipped.case_id = "a";
    skipped.op = "add";
    skipped.dtype = "bool";
    skipped.verdict = Verdict::kSkipped;
    skipped.reason = "filtered";
    CHECK(error_csv({skipped}, "") ==
          std::string(kHeader) + "1,a,add,skipped,bool,,[],,,,,,,,,,,,filtered,diopi test --case a,\r\n");
}

TEST_CASE("the CSV is written when nothing failed, and a full disk keeps the former one", "[report][csv]") {
    const testing::TestFolder folder;
    const std::string path = folder / "sub/error_report.csv";
    CaseResult passed;
    REQUIRE(write_error_csv(path, {passed}, "").ok());
    CHECK(*read_text_file(path) == kHeader);
    Status status;
    {
        const testing::FullDisk full(64);
        status = write_error_csv(path, {failing_add()}, "");
    }
    CHECK_FALSE(status.ok());
    CHECK(*read_text_file(path) == kHeader);
}

}  // namespace diopi
