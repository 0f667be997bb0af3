/// Linked into a second diopi, around the cpu backend's diopiRelu (--wrap): it asks the context for a workspace and
/// keeps it for good, as a leaking operator library does.
#include <vector>

#include "runtime/context.hpp"

/// In no anonymous namespace: its name must come out in a backtrace.
[[gnu::noinline]] diopiError_t keep_a_workspace(diopiContextHandle_t ctx) {
    static std::vector<diopi::TensorPtr> kept;
    diopiTensorHandle_t workspace = nullptr;
    const diopiError_t error = diopiRequireBuffer(ctx, &workspace, 132, diopi_device);
    if (error == diopiSuccess) kept.push_back(ctx->take(workspace));
    return error;
}

extern "C" diopiError_t REAL_RELU(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input);

extern "C" diopiError_t WRAPPED_RELU(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                     diopiConstTensorHandle_t input) {
    const diopiError_t error = keep_a_workspace(ctx);
    return error == diopiSuccess ? REAL_RELU(ctx, out, input) : error;
}
