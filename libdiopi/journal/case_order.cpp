#include "journal/case_order.hpp"

#include <algorithm>

namespace diopi {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Removes the leading digits from `text` and returns them without leading zeros.
std::string_view take_number(std::string_view& text) {
    size_t zeros = 0;
    while (zeros < text.size() && text[zeros] == '0') ++zeros;
    size_t end = zeros;
    while (end < text.size() && is_digit(text[end])) ++end;
    const std::string_view digits = text.substr(zeros, end - zeros);
    text.remove_prefix(end);
    return digits;
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
    std::string_view x = a;
    std::string_view y = b;
    while (!x.empty() && !y.empty()) {
        if (is_digit(x.front()) && is_digit(y.front())) {
            const std::string_view m = take_number(x);
            const std::string_view n = take_number(y);
            if (m.size() != n.size()) return m.size() < n.size();
            if (m != n) return m < n;
        } else {
            if (x.front() != y.front()) return x.front() < y.front();
            x.remove_prefix(1);
            y.remove_prefix(1);
        }
    }
    if (x.empty() != y.empty()) return x.empty();
    return a < b;
}

void sort_by_case(std::vector<CaseResult>& results) {
    std::ranges::stable_sort(results, natural_less, &CaseResult::case_id);
}

}  // namespace diopi
