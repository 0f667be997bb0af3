#include "step/checks.hpp"

#include "core/suggest.hpp"

namespace diopi {

namespace {

constexpr Checks kNone = {Guard::kNone, false, false, false, false, false, false, false, false};

/// A word of the command line and the check that it switches on.
struct Word {
    const char* name;
    void (*apply)(Checks&);
    bool (*holds)(const Checks&);
    bool is_extra = false;  ///< not part of "all"
};

constexpr Word kWords[] = {
    {"guards", [](Checks& c) { c.guard = Guard::kZones; }, [](const Checks& c) { return c.guard == Guard::kZones; }},
    {"pages", [](Checks& c) { c.guard = Guard::kPages; }, [](const Checks& c) { return c.guard == Guard::kPages; },
     true},
    {"inputs", [](Checks& c) { c.inputs = true; }, [](const Checks& c) { return c.inputs; }},
    {"poison", [](Checks& c) { c.poison = true; }, [](const Checks& c) { return c.poison; }},
    {"repeat", [](Checks& c) { c.repeat = true; }, [](const Checks& c) { return c.repeat; }},
    {"history", [](Checks& c) { c.history = true; }, [](const Checks& c) { return c.history; }},
    {"leaks", [](Checks& c) { c.leaks = true; }, [](const Checks& c) { return c.leaks; }},
    {"stream", [](Checks& c) { c.stream = true; }, [](const Checks& c) { return c.stream; }},
    {"state", [](Checks& c) { c.state = true; }, [](const Checks& c) { return c.state; }},
    {"refusals", [](Checks& c) { c.refusals = true; }, [](const Checks& c) { return c.refusals; }, true},
};

}  // namespace

Result<Checks> Checks::parse(const std::vector<std::string>& names) {
    Checks checks = kNone;
    std::vector<std::string> known = {"all", "none"};
    for (const Word& word : kWords) known.emplace_back(word.name);
    for (const std::string& name : names) {
        if (name == "none" && names.size() > 1) return bad_input("--checks none cannot be combined with another check");
        if (name == "none") continue;
        bool found = name == "all";
        for (const Word& word : kWords) {
            const bool by_all = name == "all" && !word.is_extra;
            // "all" does not replace protected pages that are requested beside it.
            if (by_all && checks.guard == Guard::kPages && std::string_view(word.name) == "guards") continue;
            if (!by_all && name != word.name) continue;
            word.apply(checks);
            found = true;
        }
        if (!found) return bad_input("there is no check '" + name + "'" + did_you_mean(name, known));
    }
    return checks;
}

std::string Checks::text() const {
    std::string text, extra;
    bool has_all = true;
    for (const Word& word : kWords) {
        const bool holds = word.holds(*this);
        if (holds) (word.is_extra ? extra : text) += std::string(" ") + word.name;
        // Protected pages take the place of guards.
        const bool is_replaced = std::string_view(word.name) == "guards" && guard == Guard::kPages;
        has_all &= holds || word.is_extra || is_replaced;
    }
    if (has_all) return "all" + extra;
    text += extra;
    return text.empty() ? "none" : text.substr(1);
}

}  // namespace diopi
