/// For tests: the cpu backend with functions replaced, and cases for it.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/backend.hpp"
#include "cases/case.hpp"

namespace diopi::testing {

/// Functions of the standard and what stands in their place.
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

inline CaseTensor case_tensor(const std::string& name, const Shape& shape, Dtype dtype = Dtype::float32) {
    CaseTensor out;
    out.name = name;
    out.specs = {{shape, dtype, {}}};
    return out;
}

inline Case make_case(const std::string& op, std::vector<CaseTensor> tensors) {
    Case c;
    c.suite = "ops";
    c.group = "test";
    c.op = op;
    c.semantics = "torch";
    c.tensors = std::move(tensors);
    return c;
}

}  // namespace diopi::testing
