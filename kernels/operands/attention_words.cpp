#include "kernels/operands/attention_words.hpp"

#include <string>

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

diopiError_t check_integers(std::string_view op, std::string_view argument, const View& v) {
    return is_integer(v.dtype) ? diopiSuccess : unsupported(op, argument, v.dtype, "an integer dtype");
}

diopiError_t check_tokens(std::string_view op, std::string_view argument, const View& ids, int64_t steps, int64_t first,
                          int64_t batch) {
    const bool fits = ids.rank() == 2 && steps >= 0 && steps <= ids.shape[0] && first >= 0 && batch >= 0 &&
                      batch <= ids.shape[1] - first;
    if (!fits) {
        return wrong_shape(op, argument, ids.shape,
                           "at least " + std::to_string(steps) + " rows, and " + std::to_string(batch) +
                               " columns from column " + std::to_string(first) + " on");
    }
    return check_integers(op, argument, ids);
}

diopiError_t check_words(std::string_view op, std::string_view argument, const View& lists, bool shared, int64_t batch,
                         int64_t length) {
    const diopiError_t error = check_shape(op, argument, lists, shared ? Shape{2, length} : Shape{batch, 2, length});
    return error != diopiSuccess ? error : check_integers(op, argument, lists);
}

}  // namespace diopi::operands
