/// Linked into a second diopi, around the cpu backend's diopiRelu (--wrap): it asks the context for a workspace and
/// keeps it for good, as a leaking operator library does. DIOPI_TEST_RELU chooses another fault instead: "wrong"
/// changes the last element, "strided" the same where the output is not contiguous, "segv", "hang" and "print" do what
/// they say, "none" is sound.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
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
    const char* chosen = std::getenv("DIOPI_TEST_RELU");
    const std::string_view fault = chosen == nullptr ? "leak" : chosen;
    if (fault == "segv") std::raise(SIGSEGV);
    for (volatile bool stuck = fault == "hang"; stuck;) {
    }
    if (fault == "print") std::puts("hello"), std::fflush(stdout);
    diopiError_t error = fault == "leak" ? keep_a_workspace(ctx) : diopiSuccess;
    if (error == diopiSuccess) error = REAL_RELU(ctx, out, input);
    const bool wrong = fault == "wrong" || (fault == "strided" && !out->is_contiguous());
    if (wrong && out->numel() > 0 && out->dtype == diopi::Dtype::float32) {
        int64_t last = 0;
        for (size_t d = 0; d < out->shape.size(); ++d) last += (out->shape[d] - 1) * out->strides[d];
        out->data_as<float>()[last] += 1;
    }
    return error;
}
