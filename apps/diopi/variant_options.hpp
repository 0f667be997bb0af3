/// Options of diopi test that vary its cases (docs/variants.md).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cases/variant.hpp"
#include "core/status.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace diopi {

/// The options as they are written on the command line.
struct VariantFlags {
    std::string fill;
    std::string captured;
    bool empty = false;
    bool zero_dim = false;
    bool four_bytes = false;
    LayoutOptions layout;
};

void add_variant_options(CLI::App& command, VariantFlags& flags);

/// Changes the cases as the options require; those that they cannot change stay, and are listed with the reason. Bad
/// input for options that contradict each other, and for captured values that cannot be read.
[[nodiscard]] Result<std::map<std::string, std::string>> vary_cases(std::vector<Case>& cases,
                                                                    const VariantFlags& flags);

/// The options that repeat the variants, for a command line; empty when there are none.
[[nodiscard]] std::string repeat_variants(const VariantFlags& flags);

}  // namespace diopi
