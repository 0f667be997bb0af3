#include "report/audit_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "core/suggest.hpp"
#include "json/json_text.hpp"
#include "report/table.hpp"
#include "schema/schema.hpp"

namespace diopi {

namespace {

using Names = std::vector<std::string>;

/// " (did you mean 'diopiAdd'?)" for a function that the standard does not have.
std::string close_function(const std::string& unknown) {
    static const Names known = [] {
        Names names;
        for (const Row& row : rows()) names.emplace_back(row.function);
        return names;
    }();
    return did_you_mean(unknown, known);
}

std::string functions_text(const LibraryAudit& audit, const Screen& screen) {
    Table table({{"operator"}, {"implemented"}, {"missing"}});
    std::string_view op;
    Names has, lacks;
    const auto flush = [&] {
        if (!has.empty())
            table.add_row(
                {std::string(op), fmt::format("{}", fmt::join(has, " ")), fmt::format("{}", fmt::join(lacks, " "))});
        has.clear();
        lacks.clear();
    };
    Names implemented = audit.symbols.implemented;
    std::ranges::sort(implemented);
    for (const Row& row : rows()) {
        if (row.op != op) flush();
        op = row.op;
        const bool is_there = std::ranges::binary_search(implemented, std::string(row.function));
        (is_there ? has : lacks).emplace_back(row.function);
    }
    flush();
    return table.empty() ? "" : table.render(screen);
}

/// A line per function of which the library says why it is missing.
std::string reasons_text(const LibraryAudit& audit, const Screen& screen) {
    if (audit.reasons.empty()) return "";
    Table table({{"missing"}, {"reason"}});
    for (const auto& [function, reason] : audit.reasons) table.add_row({function, reason});
    return table.render(screen) + "\n";
}

/// A line per finding, the worst first.
Names findings(const LibraryAudit& audit) {
    const LibrarySymbols& symbols = audit.symbols;
    Names lines;
    for (const std::string& name : audit.not_found) {
        lines.push_back(fmt::format("not found: {}; install it, or name its folder in LD_LIBRARY_PATH", name));
    }
    for (const std::string& name : audit.undefined) {
        lines.push_back(
            fmt::format("undefined: {}, which neither diopi nor a needed library has; link what has it", name));
    }
    for (const MangledSymbol& one : symbols.mangled) {
        lines.push_back(
            fmt::format("mangled: {} is C++ ({}); include the standard's header where it is defined, or "
                        "write extern \"C\"",
                        one.signature, one.symbol));
    }
    if (!symbols.missing_device.empty()) lines.push_back("device: " + missing_device_text(symbols));
    if (symbols.implemented.empty()) lines.emplace_back("operators: it has no function of the standard");
    for (const std::string& line : audit.messages) lines.push_back("linker: " + line);
    return lines;
}

/// Remarks, which do not make the library unusable.
Names remarks(const LibraryAudit& audit) {
    Names lines;
    for (const std::string& name : audit.symbols.unknown) {
        lines.push_back(fmt::format("unknown: the standard has no {}{}", name, close_function(name)));
    }
    if (!audit.symbols.own_runtime.empty()) {
        lines.push_back(fmt::format("runtime: it has its own {}, which the host provides; leave them undefined",
                                    fmt::join(audit.symbols.own_runtime, ", ")));
    }
    return lines;
}

}  // namespace

std::string audit_report(const LibraryAudit& audit, bool is_quiet, const Screen& screen) {
    if (!audit.is_ours) {
        return fmt::format(
            "{}: wrong architecture: built for {}, which this machine cannot run; build it for this one\n", audit.path,
            audit.machine);
    }
    std::string text = is_quiet ? "" : functions_text(audit, screen) + "\n" + reasons_text(audit, screen);
    const LibrarySymbols& symbols = audit.symbols;
    text += fmt::format("{}: {}, {} of {} functions, {} missing; {} device functions, {} queries; needs {}\n",
                        audit.path, audit.machine, symbols.implemented.size(), rows().size(), symbols.missing.size(),
                        symbols.device.size(), symbols.queries.size(),
                        audit.needed.empty() ? "nothing" : fmt::format("{}", fmt::join(audit.needed, " ")));
    for (const std::string& line : findings(audit)) text += line + "\n";
    if (!is_quiet) {
        for (const std::string& line : remarks(audit)) text += line + "\n";
    }
    if (audit.is_usable()) text += fmt::format("usable: diopi test --impl {}\n", audit.path);
    return text;
}

std::string audit_json(const LibraryAudit& audit) {
    const LibrarySymbols& symbols = audit.symbols;
    Json mangled = Json::array();
    for (const MangledSymbol& one : symbols.mangled) {
        mangled.push_back({{"name", one.name}, {"signature", one.signature}, {"symbol", one.symbol}});
    }
    Json reasons = Json::object();
    for (const auto& [function, reason] : audit.reasons) reasons[function] = reason;
    const Json json = {{"library", audit.path},
                       {"usable", audit.is_usable()},
                       {"machine", audit.machine},
                       {"right_machine", audit.is_ours},
                       {"implemented", symbols.implemented},
                       {"missing", symbols.missing},
                       {"reasons", std::move(reasons)},
                       {"queries", symbols.queries},
                       {"device_functions", symbols.device},
                       {"missing_device_functions", symbols.missing_device},
                       {"mangled", std::move(mangled)},
                       {"unknown", symbols.unknown},
                       {"own_runtime_functions", symbols.own_runtime},
                       {"undefined", audit.undefined},
                       {"needed", audit.needed},
                       {"not_found", audit.not_found},
                       {"linker", audit.messages}};
    return indented(json);
}

}  // namespace diopi
