#include "variant_options.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "capture/fill_file.hpp"
#include "report/error_report.hpp"

namespace diopi {

namespace {

struct FillOption {
    const char* name;
    Fill fill;
};
constexpr std::array kFillOptions = {
    FillOption{"exact", Fill::kExact},     FillOption{"positive", Fill::kPositive}, FillOption{"signed", Fill::kRandn},
    FillOption{"special", Fill::kSpecial}, FillOption{"captured", Fill::kCaptured},
};

/// --captured alone implies --fill captured.
std::string fill_name(const VariantFlags& flags) {
    return flags.fill.empty() && !flags.captured.empty() ? "captured" : flags.fill;
}

Result<VariantOptions> variant_options(const VariantFlags& flags) {
    VariantOptions options;
    const std::string fill = fill_name(flags);
    for (const FillOption& row : kFillOptions) {
        if (fill == row.name) options.fill = row.fill;
    }
    const bool captures = options.fill == Fill::kCaptured;
    if (captures && flags.captured.empty()) return bad_input("--fill captured needs the file: --captured FILE");
    if (!captures && !flags.captured.empty()) {
        return bad_input("--captured goes with --fill captured, not --fill " + flags.fill);
    }
    if (captures) {
        auto file = FillFile::open(flags.captured);
        if (!file.ok()) return file.error();
        options.captured = [file = *file](std::string_view op, std::string_view argument) {
            return file->find(op, argument);
        };
    }
    options.empty = flags.empty;
    options.zero_dim = flags.zero_dim;
    options.four_bytes = flags.four_bytes;
    options.layout = flags.layout;
    return options;
}

}  // namespace

void add_variant_options(CLI::App& command, VariantFlags& flags) {
    std::vector<std::string> fills;
    for (const FillOption& row : kFillOptions) fills.emplace_back(row.name);
    constexpr int kMostDims = 8;

    command.add_option("--fill", flags.fill, "values of every tensor that accepts any values")
        ->check(CLI::IsMember(fills));
    command.add_option("--captured", flags.captured, "HDF5 file that --fill captured takes values from");
    auto* empty = command.add_flag("--empty", flags.empty, "tensors with a dim of size 0");
    command.add_flag("--zero-dim", flags.zero_dim, "0-dim tensors")->excludes(empty);
    command.add_flag("--four-bytes", flags.four_bytes, "indices of 4 bytes instead of 8");
    command.add_flag("--strided", flags.layout.strided, "tensors as non-contiguous views");
    command.add_flag("--wide", flags.layout.wide, "tensors over more than 2^31 elements of memory");
    command.add_flag("--host-strides", flags.layout.host,
                     "strides and outputs as other hosts of the standard give them");
    command.add_flag("--unaligned", flags.layout.unaligned, "tensors one element behind an aligned address");
    auto* nhwc = command.add_flag("--nhwc", flags.layout.nhwc, "channels-last tensors");
    command.add_option("--nhwc-min-dim", flags.layout.nhwc_min_dim, "for tensors with at least this many dims")
        ->needs(nhwc)
        ->check(CLI::Range(1, kMostDims))
        ->capture_default_str();
}

Result<std::map<std::string, std::string>> vary_cases(std::vector<Case>& cases, const VariantFlags& flags) {
    auto options = variant_options(flags);
    if (!options.ok()) return options.error();
    return vary(cases, *options);
}

std::string repeat_variants(const VariantFlags& flags) {
    std::string text;
    const auto append = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
    if (!fill_name(flags).empty()) append("--fill " + fill_name(flags));
    if (!flags.captured.empty()) append("--captured " + shell_quoted(flags.captured));
    if (flags.empty) append("--empty");
    if (flags.zero_dim) append("--zero-dim");
    if (flags.four_bytes) append("--four-bytes");
    if (flags.layout.strided) append("--strided");
    if (flags.layout.wide) append("--wide");
    if (flags.layout.host) append("--host-strides");
    if (flags.layout.unaligned) append("--unaligned");
    if (flags.layout.nhwc) append("--nhwc");
    if (flags.layout.nhwc_min_dim != LayoutOptions().nhwc_min_dim) {
        append(fmt::format("--nhwc-min-dim {}", flags.layout.nhwc_min_dim));
    }
    return text;
}

}  // namespace diopi
