/// The abilities of the terminal. The only file that reads TERM, NO_COLOR and COLUMNS.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace diopi {

/// Whether the stream is a terminal that can move its cursor.
[[nodiscard]] bool is_terminal(std::FILE* stream);

/// Columns of the terminal, 80 if they are unknown; 200 for a pipe or a file, so that little is cut there.
[[nodiscard]] int terminal_width(std::FILE* stream);

/// Bold and colour: on a terminal, unless NO_COLOR is set (no-color.org).
[[nodiscard]] bool use_colour(std::FILE* stream);

/// The target of a text.
struct Screen {
    int width = 200;  ///< columns
    bool colour = false;
};
/// The stream's screen, its width within 80..200 columns.
[[nodiscard]] Screen screen_of(std::FILE* stream);

enum class Style { kPlain, kBold, kRed, kGreen, kYellow };

/// `text` between escape sequences; unchanged when `colour` is false.
[[nodiscard]] std::string styled(std::string_view text, Style style, bool colour);

/// Columns that UTF-8 text takes, one per code point.
[[nodiscard]] int display_width(std::string_view text);

/// `text` cut to `width` columns, its last one an ellipsis if text was removed.
[[nodiscard]] std::string shorten(std::string_view text, int width);
/// The same with the ellipsis in the middle: both ends of a name tell it from others.
[[nodiscard]] std::string shorten_middle(std::string_view text, int width);

}  // namespace diopi
