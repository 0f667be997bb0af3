/// A wrapper of the cpu backend's diopiRelu (--wrap) for another build of diopi: it gets a workspace from the context
/// and never frees it, like a leaking operator library. DIOPI_TEST_RELU chooses another fault: "wrong" changes the last
/// element, "strided" does so if the output is not contiguous, "order" once a call had 9000 elements, "moved" in such a
/// call if the output lies in the second half of 1 KiB; "wrong away" is wrong in another working directory; "segv",
/// "hang" and "print" crash, hang and print, "restores" writes to its input and restores it, "slow" takes 1 ms, "none"
/// has no fault.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/context.hpp"

/// It is not in an anonymous namespace, because a backtrace must show its name.
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
    if (fault == "wrong away" && chdir("/") != 0) return diopiErrorOccurred;
    if (fault == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(1));
    // As a library that works in its input's memory and puts it right again.
    if (fault == "restores" && input->dtype == diopi::Dtype::float32 && input->numel() > 0) {
        auto* first = const_cast<volatile float*>(input->data_as<float>());
        const float value = *first;
        *first = 0;
        *first = value;
    }
    for (volatile bool stuck = fault == "hang"; stuck;) {
    }
    if (fault == "print") std::puts("hello"), std::fflush(stdout);
    diopiError_t error = fault == "leak" ? keep_a_workspace(ctx) : diopiSuccess;
    if (error == diopiSuccess) error = REAL_RELU(ctx, out, input);
    static bool was_large = false;
    const bool is_large = out->numel() >= 9000;
    was_large = was_large || is_large;
    const bool is_moved = reinterpret_cast<uintptr_t>(out->data()) % 1024 >= 512;
    const bool wrong = fault.starts_with("wrong") || (fault == "moved" && is_large && is_moved) ||
                       (fault == "order" && was_large && !is_large) || (fault == "strided" && !out->is_contiguous());
    if (wrong && out->numel() > 0 && out->dtype == diopi::Dtype::float32) {
        int64_t last = 0;
        for (size_t d = 0; d < out->shape.size(); ++d) last += (out->shape[d] - 1) * out->strides[d];
        out->data_as<float>()[last] += 1;
    }
    return error;
}
