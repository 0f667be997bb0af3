#include "core/name_choice.hpp"

#include <algorithm>

#include "core/glob.hpp"
#include "core/text.hpp"

namespace diopi {

bool is_glob(std::string_view text) { return text.find_first_of("*?") != std::string_view::npos; }

Result<NameChoice> NameChoice::parse(std::span<const std::string> words) {
    NameChoice list;
    for (const std::string& word : words) {
        std::string_view rest = word;
        while (true) {
            const size_t comma = rest.find(',');
            const std::string_view name = trimmed(rest.substr(0, comma));
            if (name.empty()) {
                return bad_input(word.empty() ? std::string("the name is empty")
                                              : "'" + word + "' has an empty name between its commas");
            }
            std::string item(name == "all" ? "*" : name);
            if (std::ranges::find(list.items_, item) == list.items_.end()) list.items_.push_back(std::move(item));
            if (comma == std::string_view::npos) break;
            rest.remove_prefix(comma + 1);
        }
    }
    return list;
}

bool NameChoice::matches(std::string_view name) const {
    return items_.empty() || std::ranges::any_of(items_, [&](const std::string& i) { return matches_glob(i, name); });
}

const std::string* NameChoice::unmatched(std::span<const std::string> names) const {
    const auto found = std::ranges::find_if(items_, [&](const std::string& item) {
        return std::ranges::none_of(names, [&](const std::string& name) { return matches_glob(item, name); });
    });
    return found == items_.end() ? nullptr : &*found;
}

}  // namespace diopi
