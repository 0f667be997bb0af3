#include "replay/shared_rows.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace diopi {

Result<SharedRows> SharedRows::create() {
    SharedRows rows;
    rows.file_.reset(std::tmpfile());
    if (rows.file_ == nullptr) return failed("cannot make a temporary file; is the disk full?");
    return rows;
}

void SharedRows::append(size_t item, const CompareRow& row) {
    const std::string line = fmt::format("{} {}\n", item, to_json_line(row));
    const ssize_t written = ::write(::fileno(file_.get()), line.data(), line.size());
    if (written != static_cast<ssize_t>(line.size())) status_ = failed("cannot keep the rows; is the disk full?");
}

std::vector<CompareRow> SharedRows::in_order() {
    std::rewind(file_.get());
    std::vector<std::pair<size_t, CompareRow>> rows;
    std::string line;
    for (int c = std::fgetc(file_.get()); c != EOF; c = std::fgetc(file_.get())) {
        if (c != '\n') {
            line += static_cast<char>(c);
            continue;
        }
        const size_t item = std::strtoull(line.c_str(), nullptr, 10);
        auto row = compare_row_from_json(std::string_view(line).substr(line.find(' ') + 1));
        if (row) rows.emplace_back(item, std::move(*row));
        line.clear();
    }
    std::ranges::stable_sort(rows, {}, [](const auto& row) { return row.first; });
    std::vector<CompareRow> sorted;
    for (auto& row : rows) sorted.push_back(std::move(row.second));
    return sorted;
}

}  // namespace diopi
