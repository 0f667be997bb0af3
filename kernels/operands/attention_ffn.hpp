/// The arguments of the products of a layer beside its attention, checked. Shared by the backends cpu and cuda.
#pragma once

#include <string_view>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// The tensors of diopiFusedSiluFfnInp: inoutput (tokens, hidden), weight1 and weight3 (hidden, inter), weight2 (inter,
/// hidden).
struct SiluFfn {
    View inoutput, weight1, weight2, weight3;

    [[nodiscard]] int64_t tokens() const { return inoutput.shape[0]; }
    [[nodiscard]] int64_t hidden() const { return inoutput.shape[1]; }
    [[nodiscard]] int64_t inter() const { return weight1.shape[1]; }
};
/// Refuses tensors of other shapes.
[[nodiscard]] diopiError_t check_silu_ffn(std::string_view op, const SiluFfn& a);

/// Refuses tensors that are not x1 (m, k), x2 (k, n), bias (n) or null and out (m, n), and a reduction other than
/// "sum": no other one of the parts of a product is known.
[[nodiscard]] diopiError_t check_matmul_all_reduce(std::string_view op, const View& out, const View& x1, const View& x2,
                                                   diopiConstTensorHandle_t bias, const char* reduce_op);

}  // namespace diopi::operands
