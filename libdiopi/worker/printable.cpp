#include "worker/printable.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace diopi {

std::string printable(std::string_view bytes, size_t most) {
    std::string text;
    for (const char c : bytes.substr(0, most)) {
        if (c == '\n') {
            text += "\\n";
        } else if (c == '\t') {
            text += "\\t";
        } else if (c >= ' ' && c <= '~') {
            text += c;
        } else {
            text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
    }
    if (bytes.size() > most) text += "...";
    return text;
}

std::string one_line(std::string text) {
    std::ranges::replace(text, '\n', ' ');
    return text;
}

}  // namespace diopi
