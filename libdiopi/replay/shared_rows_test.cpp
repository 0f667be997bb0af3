#include "replay/shared_rows.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace diopi {

TEST_CASE("rows of workers come in the order of their items", "[run][compare]") {
    auto rows = SharedRows::create();
    REQUIRE(rows.ok());
    const pid_t worker = ::fork();
    if (worker == 0) {
        for (const char* where : {"c", "d"}) {
            CompareRow row;
            row.where = where;
            rows->append(2, row);
        }
        ::_exit(rows->status().ok() ? 0 : 1);
    }
    int ended = 1;
    REQUIRE(::waitpid(worker, &ended, 0) == worker);
    REQUIRE(ended == 0);
    CompareRow first;
    first.where = "a";
    rows->append(0, first);
    std::string order;
    for (const CompareRow& row : rows->in_order()) order += row.where;
    CHECK(order == "acd");
}

}  // namespace diopi
