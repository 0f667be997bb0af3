#include "kernels/cpu/view.hpp"

namespace diopi::cpu {

diopiError_t contiguous_as(diopiContextHandle_t ctx, const View& from, Dtype dtype, View& made) {
    if (from.dtype == dtype && from.is_contiguous()) {
        made = from;
        return diopiSuccess;
    }
    View fresh;  // `made` may be `from`
    const diopiError_t error = require(ctx, from.shape, dtype, fresh);
    if (error != diopiSuccess) return error;
    copy(from, fresh);
    made = fresh;
    return diopiSuccess;
}

}  // namespace diopi::cpu
