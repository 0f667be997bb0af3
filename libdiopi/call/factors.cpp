#include "call/factors.hpp"

#include <cmath>

namespace diopi {

bool is_scaled(const Call& call) {
    for (size_t i = 0; i < call.args.size(); ++i) {
        const auto* factor = call.row->args()[i].is_factor ? std::get_if<Scalar>(&call.args[i]) : nullptr;
        if (factor != nullptr && std::fabs(factor->as_double()) != 1 && factor->as_double() != 0) return true;
    }
    return false;
}

}  // namespace diopi
