#include "core/glob.hpp"

#include <cstddef>

namespace diopi {

bool matches_glob(std::string_view pattern, std::string_view text) {
    size_t p = 0, t = 0;
    size_t star = std::string_view::npos;  // the last star, and the end of the text that it matches
    size_t matched = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            matched = t;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
            ++p;
            ++t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++matched;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool may_match_glob(std::string_view pattern, std::string_view start) {
    const std::string_view plain = pattern.substr(0, pattern.find_first_of("*?"));
    return plain.starts_with(start.substr(0, plain.size()));
}

}  // namespace diopi
