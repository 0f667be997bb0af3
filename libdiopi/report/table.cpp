#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace diopi {

namespace {

constexpr int kNarrowestText = 8;
constexpr int kLeftOut = -1;

int width_of_all(const std::vector<int>& widths) {
    int total = -kColumnGap;
    for (const int width : widths) {
        if (width != kLeftOut) total += width + kColumnGap;
    }
    return total;
}

std::string repeated(std::string_view piece, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += piece;
    return text;
}

}  // namespace

std::string listed(const std::vector<std::string>& names) {
    constexpr size_t kMostNames = 8;
    if (names.size() <= kMostNames) return fmt::format("{}", fmt::join(names, ", "));
    const std::vector<std::string> first(names.begin(), names.begin() + kMostNames);
    return fmt::format("{}, ... and {} more", fmt::join(first, ", "), names.size() - kMostNames);
}

std::string wrapped(const std::string& text, int width) {
    std::string lines;
    size_t line = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t comma = text.find(", ", at);
        const std::string piece = text.substr(at, comma == std::string::npos ? comma : comma + 2 - at);
        if (line > 0 && line + piece.size() > static_cast<size_t>(width)) {
            lines += "\n";
            line = 0;
        }
        lines += piece;
        line += piece.size();
        at += piece.size();
    }
    return lines + "\n";
}

std::string counted(int64_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

void Table::add_row(std::vector<std::string> cells, Style style) {
    cells.resize(columns_.size());
    rows_.push_back({std::move(cells), style});
}

std::vector<int> Table::fit(int width) const {
    std::vector<int> widths;
    for (size_t c = 0; c < columns_.size(); ++c) {
        int widest = display_width(columns_[c].title);
        for (const Row& row : rows_) widest = std::max(widest, display_width(row.cells[c]));
        widths.push_back(columns_[c].max_width > 0 ? std::min(widest, columns_[c].max_width) : widest);
    }
    // Optional columns are removed before text becomes narrower than half of its own width.
    std::vector<int> narrowed = widths;
    for (size_t c = 0; c < widths.size(); ++c) {
        if (columns_[c].align == Align::kLeft && !columns_[c].is_name)
            narrowed[c] = std::min(widths[c], std::max(kNarrowestText, widths[c] / 2));
    }
    for (size_t c = columns_.size(); c-- > 0 && width_of_all(narrowed) > width;) {
        if (columns_[c].expendable) narrowed[c] = widths[c] = kLeftOut;
    }
    for (int surplus = width_of_all(widths) - width; surplus > 0; --surplus) {
        int* widest = widest_text(widths, false);
        if (widest == nullptr) widest = widest_text(widths, true);
        if (widest == nullptr) break;
        --*widest;
    }
    return widths;
}

int* Table::widest_text(std::vector<int>& widths, bool is_name) const {
    int* widest = nullptr;
    for (size_t c = 0; c < widths.size(); ++c) {
        const Column& column = columns_[c];
        const bool yields = column.align == Align::kLeft && column.is_name == is_name && widths[c] > kNarrowestText;
        if (yields && (widest == nullptr || widths[c] > *widest)) widest = &widths[c];
    }
    return widest;
}

std::string Table::line(const std::vector<std::string>& cells, const std::vector<int>& widths) const {
    std::string text;
    for (size_t c = 0; c < columns_.size(); ++c) {
        if (widths[c] == kLeftOut) continue;
        if (c > 0) text.append(kColumnGap, ' ');
        const bool is_number = columns_[c].align == Align::kRight && columns_[c].max_width == 0;
        const std::string cell = is_number             ? cells[c]
                                 : columns_[c].is_name ? shorten_middle(cells[c], widths[c])
                                                       : shorten(cells[c], widths[c]);
        const auto padding = static_cast<size_t>(std::max(0, widths[c] - display_width(cell)));
        if (columns_[c].align == Align::kRight) text.append(padding, ' ');
        text += cell;
        if (columns_[c].align == Align::kLeft) text.append(padding, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

std::string Table::render(int width, bool colour) const {
    const std::vector<int> widths = fit(width);
    std::vector<std::string> titles;
    std::vector<std::string> rules;
    for (size_t c = 0; c < columns_.size(); ++c) {
        titles.push_back(columns_[c].title);
        rules.push_back(repeated("-", std::max(widths[c], 0)));
    }
    std::string text = styled(line(titles, widths), Style::kBold, colour) + "\n" + line(rules, widths) + "\n";
    for (const Row& row : rows_) text += styled(line(row.cells, widths), row.style, colour) + "\n";
    return text;
}

}  // namespace diopi
