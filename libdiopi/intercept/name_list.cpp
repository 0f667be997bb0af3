#include "intercept/name_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <utility>

#include "call/call_name.hpp"
#include "core/text.hpp"

namespace diopi {

namespace {

struct Item {
    std::string text;
    std::regex pattern;
    bool matched = false;
};

}  // namespace

struct NameList::State {
    std::vector<Item> items;
    /// The results by function and the framework's name, because matching is slow and calls are many.
    std::map<std::pair<const Row*, std::string>, bool> known;
};

NameList::NameList() : state_(std::make_unique<State>()) {}
NameList::~NameList() = default;
NameList::NameList(NameList&&) noexcept = default;
NameList& NameList::operator=(NameList&&) noexcept = default;

Result<NameList> NameList::parse(std::string_view text) {
    NameList list;
    while (!text.empty()) {
        const size_t end = std::min(text.find(','), text.size());
        const std::string item(trimmed(text.substr(0, end)));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (item.empty()) continue;
        try {
            list.state_->items.push_back({item, std::regex(item)});
        } catch (const std::regex_error& e) {
            return bad_input(
                fmt::format("'{}' is no regular expression ({}); write \\ before a character that is meant literally",
                            item, e.what()));
        }
    }
    return list;
}

bool NameList::empty() const { return state_->items.empty(); }

bool NameList::matches(const Call& call) {
    const auto [known, is_new] =
        state_->known.try_emplace({call.row, call.origin == nullptr ? std::string() : call.origin->overload});
    if (!is_new) return known->second;
    const std::vector<std::string> names = names_of(call);
    for (Item& item : state_->items) {
        const bool matched =
            std::ranges::any_of(names, [&](const std::string& name) { return std::regex_match(name, item.pattern); });
        item.matched |= matched;
        known->second |= matched;
    }
    return known->second;
}

std::vector<std::string> NameList::unmatched() const {
    std::vector<std::string> texts;
    for (const Item& item : state_->items) {
        if (!item.matched) texts.push_back(item.text);
    }
    return texts;
}

}  // namespace diopi
