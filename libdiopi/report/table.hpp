/// A plain text table: aligned columns, fitted to the width of the terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/terminal.hpp"

namespace diopi {

/// "1 call", "2 calls".
[[nodiscard]] std::string counted(int64_t count, std::string_view noun);

/// "add, mul, relu": the first names, and the number of the others: "add, mul, ... and 30 more".
[[nodiscard]] std::string listed(const std::vector<std::string>& names);

/// Text broken after commas into lines of `width` columns.
[[nodiscard]] std::string wrapped(const std::string& text, int width);

/// Blanks between two columns.
constexpr int kColumnGap = 2;

enum class Align { kLeft, kRight };

struct Column {
    std::string title;
    Align align = Align::kLeft;
    int max_width = 0;        ///< the most columns of the screen that it takes; 0: as many as its longest cell
    bool expendable = false;  ///< left out if the table is too wide otherwise, the last such column first
    bool is_name = false;     ///< narrowed after all others only, and then in the middle: no two rows look alike
};

class Table {
 public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// Adds a row; missing cells are empty, surplus ones are dropped. `style` applies to the whole row.
    void add_row(std::vector<std::string> cells, Style style = Style::kPlain);
    [[nodiscard]] bool empty() const { return rows_.empty(); }

    /// Title, rule and rows, each line ending in a newline and at most `width` columns wide if possible: the widest
    /// left-aligned column is narrowed and its cells end in an ellipsis, names last. Numbers are never cut.
    [[nodiscard]] std::string render(int width, bool colour) const;
    [[nodiscard]] std::string render(const Screen& screen) const { return render(screen.width, screen.colour); }

 private:
    struct Row {
        std::vector<std::string> cells;
        Style style;
    };

    /// Width of each column; kLeftOut for those that do not fit.
    [[nodiscard]] std::vector<int> fit(int width) const;
    /// The widest text column that can be narrowed, names or others; null if there is none.
    [[nodiscard]] int* widest_text(std::vector<int>& widths, bool is_name) const;
    [[nodiscard]] std::string line(const std::vector<std::string>& cells, const std::vector<int>& widths) const;

    std::vector<Column> columns_;
    std::vector<Row> rows_;
};

}  // namespace diopi
