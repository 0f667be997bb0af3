#include "report/listing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "json/json_text.hpp"

namespace diopi {

namespace {

bool is_whole_number(const std::string& text) {
    constexpr size_t kMostDigits = 18;
    const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
    return !text.empty() && text.size() <= kMostDigits && std::ranges::all_of(text, is_digit);
}

}  // namespace

std::string listing_text(const Listing& listing, bool is_quiet, const Screen& screen) {
    std::string text;
    if (is_quiet) {
        for (const auto& row : listing.rows) text += row.front() + "\n";
        return text;
    }
    std::vector<Column> columns = listing.columns;
    for (Column& column : columns) column.is_name = &column == columns.data();
    Table table(std::move(columns));
    for (const auto& row : listing.rows) table.add_row(row);
    return table.render(screen) +
           fmt::format("{}\n", counted(static_cast<int64_t>(listing.rows.size()), listing.columns.front().title));
}

std::string listing_json(const Listing& listing) {
    Json list = Json::array();
    for (const auto& row : listing.rows) {
        Json one = Json::object();
        for (size_t i = 0; i < row.size(); ++i) {
            const std::string& key = listing.columns[i].title;
            if (is_whole_number(row[i]))
                one[key] = std::stoll(row[i]);
            else
                one[key] = row[i];
        }
        list.push_back(std::move(one));
    }
    return indented(list);
}

}  // namespace diopi
