/// Normalisation of each channel of each sample: groups of one channel, whose statistics are not kept.
#include "kernels/cpu/norm_group.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

template <class... Arguments>
diopiError_t instance_norm(diopiContextHandle_t ctx, Arguments... arguments) {
    GroupNorm groups{};
    const diopiError_t error = read_instance_norm(InstanceNorm{arguments...}, groups);
    return error != diopiSuccess ? error : normalise_groups(ctx, groups);
}

template <class... Arguments>
diopiError_t instance_norm_backward(diopiContextHandle_t ctx, Arguments... arguments) {
    GroupNormGradient groups{};
    const diopiError_t error = read_instance_norm(InstanceNormGradient{arguments...}, groups);
    return error != diopiSuccess ? error : normalise_groups_backward(ctx, groups);
}

}  // namespace

#include "kernels/entries/norm_instance.inc"

}  // namespace diopi::cpu
