/// Rows that workers append and their parent reads afterwards, even if a worker crashed.
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

    /// A row of work item number `item`, in one write, so that rows of several workers do not mix.
    void append(size_t item, const CompareRow& row);
    /// The process that appends.
    [[nodiscard]] const Status& status() const { return status_; }
    /// In the order of their items.
    [[nodiscard]] std::vector<CompareRow> in_order();

 private:
    struct Closer {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, Closer> file_;
    Status status_;
};

}  // namespace diopi
