#include "kernels/operands/attention_decode.hpp"

#include <string>

#include "kernels/operands/attention_words.hpp"
#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

diopiError_t check_flags(std::string_view op, std::string_view argument, const View& v, int64_t count) {
    if (v.dtype != Dtype::boolean) return unsupported(op, argument, v.dtype, "bool");
    return check_shape(op, argument, v, Shape{count});
}

diopiError_t check_integers(std::string_view op, std::string_view argument, const View& v, int64_t count) {
    const diopiError_t error = check_integers(op, argument, v);
    return error != diopiSuccess ? error : check_shape(op, argument, v, Shape{count});
}

diopiError_t check_gathered(std::string_view op, const View& output_ids, const View& ids, const View& context_length,
                            int64_t batch, int64_t steps, int64_t room) {
    diopiError_t error = check_integers(op, "output_ids", output_ids);
    if (error == diopiSuccess) error = check_shape(op, "output_ids", output_ids, Shape{batch, room});
    if (error == diopiSuccess) error = check_integers(op, "ids", ids);
    if (error == diopiSuccess) error = check_shape(op, "ids", ids, Shape{steps, batch});
    return error != diopiSuccess ? error : check_integers(op, "context_length", context_length, batch);
}

diopiError_t check_looked_up(std::string_view op, const View& from_tensor, const View& table, int64_t count,
                             int64_t width) {
    if (table.rank() != 2 || table.shape[1] != width) {
        return wrong_shape(op, "embedding_table", table.shape, "(vocab, " + std::to_string(width) + ")");
    }
    diopiError_t error = check_computable(op, "embedding_table", table);
    if (error == diopiSuccess && from_tensor.dtype != table.dtype) {
        error = unsupported(op, "from_tensor", from_tensor.dtype, name(table.dtype));
    }
    return error != diopiSuccess ? error : check_shape(op, "from_tensor", from_tensor, Shape{count, width});
}

}  // namespace diopi::operands
