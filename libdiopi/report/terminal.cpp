#include "report/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace diopi {

namespace {

constexpr int kDefaultColumns = 80;
constexpr int kPipeColumns = 200;
constexpr int kNarrowest = 80, kWidest = 200;

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u; }

const char* escape_of(Style style) {
    switch (style) {
        case Style::kPlain:
            return "";
        case Style::kBold:
            return "\x1b[1m";
        case Style::kRed:
            return "\x1b[31m";
        case Style::kGreen:
            return "\x1b[32m";
        case Style::kYellow:
            return "\x1b[33m";
    }
    return "";
}

}  // namespace

bool is_terminal(std::FILE* stream) {
    if (::isatty(::fileno(stream)) == 0) return false;
    const char* term = std::getenv("TERM");
    return term == nullptr || std::string_view(term) != "dumb";
}

int terminal_width(std::FILE* stream) {
    if (::isatty(::fileno(stream)) == 0) return kPipeColumns;
    winsize size = {};
    if (::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    const char* columns = std::getenv("COLUMNS");
    const int from_environment = columns == nullptr ? 0 : std::atoi(columns);
    return from_environment > 0 ? from_environment : kDefaultColumns;
}

bool use_colour(std::FILE* stream) {
    const char* refused = std::getenv("NO_COLOR");
    return is_terminal(stream) && (refused == nullptr || *refused == '\0');
}

Screen screen_of(std::FILE* stream) {
    return {std::clamp(terminal_width(stream), kNarrowest, kWidest), use_colour(stream)};
}

std::string styled(std::string_view text, Style style, bool colour) {
    if (!colour || style == Style::kPlain) return std::string(text);
    return escape_of(style) + std::string(text) + "\x1b[0m";
}

int display_width(std::string_view text) {
    return static_cast<int>(std::ranges::count_if(text, [](char byte) { return !is_continuation(byte); }));
}

std::string shorten(std::string_view text, int width) {
    if (display_width(text) <= width) return std::string(text);
    int columns = 0;
    size_t end = 0;
    for (; end < text.size(); ++end) {
        if (!is_continuation(text[end]) && ++columns >= width) break;
    }
    return width <= 0 ? std::string() : std::string(text.substr(0, end)) + "…";
}

std::string shorten_middle(std::string_view text, int width) {
    if (display_width(text) <= width) return std::string(text);
    const int back = (width - 1) / 2;
    int columns = 0;
    size_t begin = text.size();
    while (begin > 0 && columns < back) columns += is_continuation(text[--begin]) ? 0 : 1;
    return shorten(text, width - back) + std::string(text.substr(begin));
}

}  // namespace diopi
