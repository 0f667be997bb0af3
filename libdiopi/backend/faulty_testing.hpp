/// For tests: the cpu backend with functions replaced.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/backend.hpp"

namespace diopi::testing {

/// Functions of the standard and their replacements.
using Replacements = std::initializer_list<std::pair<std::string_view, AnyFunction>>;

class FaultyBackend {
 public:
    explicit FaultyBackend(Replacements replacements) : table_(replaced(replacements)) {}
    FaultyBackend(const FaultyBackend&) = delete;
    FaultyBackend& operator=(const FaultyBackend&) = delete;
    [[nodiscard]] const Backend& backend() const { return backend_; }

 private:
    static std::vector<AnyFunction> replaced(Replacements replacements) {
        const Backend& good = **find_backend("cpu");
        std::vector<AnyFunction> table;
        for (const Row& row : rows()) {
            AnyFunction function = good.function(row);
            for (const auto& [name, replacement] : replacements) {
                if (row.function == name) function = replacement;
            }
            table.push_back(function);
        }
        return table;
    }

    std::vector<AnyFunction> table_;
    Backend backend_{"faulty", cpu_device(), table_};
};

template <class Function>
AnyFunction any_function(Function* function) {
    return reinterpret_cast<AnyFunction>(function);
}

}  // namespace diopi::testing
