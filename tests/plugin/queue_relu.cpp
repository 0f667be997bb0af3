/// relu of dense float32 tensors in the order of the context's stream, with one fault, chosen at compile time.
#include <diopi/functions.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "queue.hpp"

namespace {

/// Gives the stream the time to do its work, without a function that waits for it. One that is held does not do it.
[[maybe_unused]] void let_run(diopiStreamHandle_t stream, std::chrono::milliseconds most) {
    const auto done = std::make_shared<std::atomic<bool>>(false);
    enqueue(stream, [done] { *done = true; });
    const auto start = std::chrono::steady_clock::now();
    while (!*done && std::chrono::steady_clock::now() - start < most) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}
/// The most time for a stream of the library, which nobody holds, and for a context's, which the check holds for 60 ms
/// in its second run.
[[maybe_unused]] constexpr std::chrono::seconds kOwn(20);
[[maybe_unused]] constexpr std::chrono::milliseconds kHeld(25);

/// A stream of the library, not of a context.
[[maybe_unused]] diopiStreamHandle_t own_stream() {
    static const diopiStreamHandle_t stream = [] {
        diopiStreamHandle_t made = nullptr;
        device_make_stream(&made);
        return made;
    }();
    return stream;
}

bool is_dense(diopiConstTensorHandle_t tensor) {
    diopiSize_t sizes, strides;
    diopiGetTensorShape(tensor, &sizes);
    diopiGetTensorStride(tensor, &strides);
    int64_t step = 1;
    for (int64_t dim = sizes.len - 1; dim >= 0; --dim) {
        if (strides.data[dim] != step) return false;
        step *= sizes.data[dim];
    }
    return true;
}

void relu(void* out, const void* input, int64_t numel) {
    auto* to = static_cast<float*>(to_host(out));
    const auto* from = static_cast<const float*>(to_host(input));
    for (int64_t i = 0; i < numel; ++i) to[i] = from[i] < 0 ? 0 : from[i];
}

}  // namespace

extern "C" diopiError_t diopiRelu(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    void* to = nullptr;
    const void* from = nullptr;
    int64_t numel = 0;
    diopiDtype_t dtype;
    diopiStreamHandle_t stream = nullptr;
    diopiGetTensorDtype(input, &dtype);
    if (dtype != diopi_dtype_float32) return diopiDtypeNotSupported;
    if (!is_dense(out) || !is_dense(input)) return diopiNoImplement;
    diopiGetTensorData(out, &to);
    diopiGetTensorDataConst(input, &from);
    diopiGetTensorNumel(input, &numel);
    diopiGetStream(ctx, &stream);
    [[maybe_unused]] const auto work = [=] { relu(to, from, numel); };
#if defined QUEUE_ON_THE_HOST
    work();
#elif defined QUEUE_OTHER_STREAM
    enqueue(own_stream(), work);
    let_run(own_stream(), kOwn);
#elif defined QUEUE_OTHER_STREAM_AND_WAIT
    enqueue(own_stream(), work);
    finish(own_stream());
#elif defined QUEUE_OTHER_STREAM_COPIES
    diopiTensorHandle_t made = nullptr;
    void* memory = nullptr;
    diopiRequireBuffer(ctx, &made, numel * 4 + 4, diopi_device);
    diopiGetTensorData(made, &memory);
    enqueue(stream, [=] { relu(memory, from, numel); });
    let_run(stream, kHeld);
    device_memcpy_d2d_async(own_stream(), to, memory, static_cast<uint64_t>(numel) * 4);
    let_run(own_stream(), kOwn);
#else
    enqueue(stream, work);
#endif
#ifdef QUEUE_WAITS
    device_synchronize_stream(stream);
#endif
#ifdef QUEUE_WAITS_INSIDE
    finish(stream);
#endif
    return diopiSuccess;
}

extern "C" diopiError_t diopiReluInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return diopiRelu(ctx, input, input);
}
