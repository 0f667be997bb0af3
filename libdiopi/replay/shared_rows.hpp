/// Rows that workers append and their parent reads later, even if a worker crashed.
#pragma once

#include <cstdio>
#include <memory>
#include <vector>

#include "core/status.hpp"
#include "journal/compare_row.hpp"

namespace diopi {

class SharedRows {
 public:
    [[nodiscard]] static Result<SharedRows> create();

    /// Appends a row of work item number `item` with one write, so that rows of several workers do not mix.
    void append(size_t item, const CompareRow& row);
    /// The status of this process's writes.
    [[nodiscard]] const Status& status() const { return status_; }
    /// The rows in the order of their items.
    [[nodiscard]] std::vector<CompareRow> in_order();

 private:
    struct Closer {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, Closer> file_;
    Status status_;
};

}  // namespace diopi
