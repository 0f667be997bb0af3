#include "kernels/operands/random.hpp"

#include <string>

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

Sequence Sequence::of(diopiGeneratorHandle_t generator) {
    Sequence from;
    diopiGeneratorGetSeedAndOffset(generator, &from.seed, &from.offset);
    return from;
}

diopiError_t Sequence::advance(diopiGeneratorHandle_t generator, int64_t numbers) const {
    return diopiGeneratorSetSeedAndOffset(generator, seed, offset + (static_cast<uint64_t>(numbers) + 3) / 4 * 4);
}

diopiError_t check_target(std::string_view op, std::string_view argument, const View& out,
                          diopiGeneratorHandle_t generator) {
    if (generator == nullptr) return refuse(op, "generator is null, wanted one");
    return check_rank(op, argument, out);
}

diopiError_t check_normal(std::string_view op, const View& inout, double std, diopiGeneratorHandle_t generator) {
    if (!is_floating(inout.dtype)) return unsupported(op, "inout", inout.dtype, "a floating dtype");
    if (!(std >= 0.0)) return refuse(op, "std is " + std::to_string(std) + ", wanted 0 or more");
    return check_target(op, "inout", inout, generator);
}

diopiError_t check_bernoulli(std::string_view op, const View& out, const View& input,
                             diopiGeneratorHandle_t generator) {
    if (!is_floating(input.dtype)) return unsupported(op, "input", input.dtype, "a floating dtype");
    if (is_complex(out.dtype)) return unsupported(op, "out", out.dtype, "a real dtype");
    if (const diopiError_t error = check_shape(op, "out", out, input.shape); error != diopiSuccess) return error;
    return check_target(op, "out", out, generator);
}

diopiError_t check_bernoulli(std::string_view op, const View& out, double p, diopiGeneratorHandle_t generator) {
    if (is_complex(out.dtype)) return unsupported(op, "out", out.dtype, "a real dtype");
    if (!(p >= 0 && p <= 1)) return refuse(op, "p is " + std::to_string(p) + ", wanted 0 to 1");
    return check_target(op, "out", out, generator);
}

}  // namespace diopi::operands
