/// For tests: cases without a file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cases/case.hpp"

namespace diopi::testing {

inline CaseTensor case_tensor(const std::string& name, const Shape& shape, Dtype dtype = Dtype::float32) {
    CaseTensor out;
    out.name = name;
    out.specs = {{shape, dtype, {}}};
    return out;
}

inline Case make_case(const std::string& op, std::vector<CaseTensor> tensors,
                      std::vector<std::pair<std::string, Param>> params = {}) {
    Case c;
    c.suite = "ops";
    c.group = "test";
    c.op = op;
    c.semantics = "torch";
    c.tensors = std::move(tensors);
    c.params = std::move(params);
    return c;
}

}  // namespace diopi::testing
