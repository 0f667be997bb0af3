/// A case that the command line describes: an operator with --shape, --dtype and --param.
#pragma once

#include <string>
#include <vector>

#include "cases/case.hpp"
#include "core/status.hpp"

namespace diopi {

struct ShapedCase {
    std::string op;
    std::vector<std::string>
        shapes;  ///< "1024x1024", "scalar" for 0 dims; one per tensor, in the order of the arguments
    std::string dtype = "float32";
    std::vector<std::string> params;  ///< "dim=1", "kernel_size=[3, 3]"
};

/// The case, with normal random numbers in every tensor. It refuses arguments that no function of the operator takes,
/// and lists the arguments of its functions.
[[nodiscard]] Result<Case> make_shaped_case(const ShapedCase& wanted);

}  // namespace diopi
