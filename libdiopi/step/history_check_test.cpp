#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <limits>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "backend/faulty_testing.hpp"
#include "cases/testing.hpp"
#include "core/strided.hpp"
#include "runtime/context.hpp"
#include "step/case_run.hpp"
#include "worker/crash_context.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;
using testing::case_tensor;
using testing::make_case;

diopiError_t relu(const float* x, diopiTensorHandle_t out, const Shape& strides, const Shape& shape) {
    auto* y = out->data_as<float>();
    const bool is_flat = shape.size() < 2;
    const int64_t rows = is_flat ? 1 : shape[0], columns = is_flat ? shape[0] : shape[1];
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
            const int64_t at = is_flat ? c * strides[0] : r * strides[0] + c * strides[1];
            y[r * columns + c] = std::max(x[at], 0.0F);
        }
    }
    return diopiSuccess;
}

diopiError_t correct(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    if (input->dtype != Dtype::float32) return diopiDtypeNotSupported;
    return relu(input->data_as<float>(), out, input->strides, input->shape);
}

// What a function keeps is its instance's: tests of one process use different ones.

/// Keeps the values of an address from the first call there.
template <int kTest>
diopiError_t keeps_values(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    if (input->dtype != Dtype::float32) return diopiDtypeNotSupported;
    static std::map<const void*, std::vector<float>> kept;
    const auto* x = input->data_as<float>();
    const auto [at, is_new] = kept.try_emplace(x, x, x + input->numel());
    return relu(at->second.data(), out, input->strides, input->shape);
}

/// Keeps the strides of an address.
template <int kTest>
diopiError_t keeps_strides(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    if (input->dtype != Dtype::float32) return diopiDtypeNotSupported;
    static std::map<const void*, Shape> kept;
    auto& strides = kept[input->data()];
    // The last but one call's.
    const Shape former = std::exchange(strides, input->strides);
    return relu(input->data_as<float>(), out, former.empty() ? input->strides : former, input->shape);
}

/// An error stays until the next call.
template <int kTest>
diopiError_t keeps_error(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    static bool failed = false;
    if (std::exchange(failed, input->dtype != Dtype::float32)) return diopiErrorOccurred;
    return failed ? diopiDtypeNotSupported : relu(input->data_as<float>(), out, input->strides, input->shape);
}

/// Works only in the thread of its first call.
diopiError_t of_one_thread(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    if (input->dtype != Dtype::float32) return diopiDtypeNotSupported;
    static thread_local bool is_known = false;
    static bool is_first = true;
    if (std::exchange(is_first, false)) is_known = true;
    if (is_known) return relu(input->data_as<float>(), out, input->strides, input->shape);
    std::fill_n(out->data_as<float>(), out->numel(), 0.0F);
    return diopiSuccess;
}

/// Counts its calls in a byte.
diopiError_t counts_in_a_byte(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    if (input->dtype != Dtype::float32) return diopiDtypeNotSupported;
    static uint8_t calls = 0;
    static bool has_wrapped = false;
    has_wrapped |= ++calls == 0;
    const auto error = relu(input->data_as<float>(), out, input->strides, input->shape);
    if (has_wrapped) out->data_as<float>()[0] = 7;
    return error;
}

/// Is wrong with more than one thread.
diopiError_t counts_threads(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    if (input->dtype != Dtype::float32) return diopiDtypeNotSupported;
    const auto error = relu(input->data_as<float>(), out, input->strides, input->shape);
    if (omp_get_max_threads() > 1) out->data_as<float>()[0] = 7;
    return error;
}

/// Keeps the slope of an address from the call before.
template <int kTest>
diopiError_t keeps_slope(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                         const diopiScalar_t* slope) {
    if (input->dtype != Dtype::float32) return diopiDtypeNotSupported;
    static std::map<const void*, double> kept;
    const double factor = kTest == 0 ? slope->fval : kept.try_emplace(input->data(), slope->fval).first->second;
    kept[input->data()] = slope->fval;
    const auto* x = input->data_as<float>();
    auto* y = out->data_as<float>();
    for (int64_t i = 0; i < input->numel(); ++i) y[i] = x[i] > 0 ? x[i] : x[i] * static_cast<float>(factor);
    return diopiSuccess;
}

/// Keeps the first dim of all calls on that many elements.
diopiError_t keeps_first_dim(diopiContextHandle_t, diopiTensorHandle_t grad_input, diopiConstTensorHandle_t grad_output,
                             diopiConstTensorHandle_t output, int64_t dim) {
    if (output->dtype != Dtype::float32) return diopiDtypeNotSupported;
    static std::map<int64_t, int64_t> kept;
    const bool is_along_rows = kept.try_emplace(output->numel(), dim).first->second == 1;
    const auto *y = output->data_as<float>(), *g = grad_output->data_as<float>();
    auto* to = grad_input->data_as<float>();
    const int64_t rows = output->shape[0], columns = output->shape[1];
    const int64_t lines = is_along_rows ? rows : columns, n = is_along_rows ? columns : rows;
    const auto at = [&](int64_t line, int64_t i) { return is_along_rows ? line * columns + i : i * columns + line; };
    for (int64_t line = 0; line < lines; ++line) {
        double sum = 0;
        for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(y[at(line, i)]) * g[at(line, i)];
        for (int64_t i = 0; i < n; ++i) {
            const int64_t k = at(line, i);
            to[k] = static_cast<float>(y[k] * (g[k] - sum));
        }
    }
    return diopiSuccess;
}

/// Keeps the first slope of all calls on that many elements.
diopiError_t keeps_first_slope(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                               const diopiScalar_t* slope) {
    if (input->dtype != Dtype::float32) return diopiDtypeNotSupported;
    static std::map<int64_t, double> kept;
    const auto factor = static_cast<float>(kept.try_emplace(input->numel(), slope->fval).first->second);
    const auto* x = input->data_as<float>();
    auto* y = out->data_as<float>();
    for (int64_t i = 0; i < input->numel(); ++i) y[i] = x[i] > 0 ? x[i] : x[i] * factor;
    return diopiSuccess;
}

/// Pairs (x[i], x[i + 2]) of four elements: the second result is computed from x after the first was written.
diopiError_t rotates_what_it_wrote(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t x,
                                   diopiConstTensorHandle_t cos, diopiConstTensorHandle_t sin, const bool, const bool) {
    if (x->dtype != Dtype::float32) return diopiDtypeNotSupported;
    const auto *from = x->data_as<float>(), *c = cos->data_as<float>(), *s = sin->data_as<float>();
    auto* to = out->data_as<float>();
    for (int64_t i = 0; i < 2; ++i) {
        to[i] = from[i] * c[i] - from[i + 2] * s[i];
        to[i + 2] = from[i] * s[i] + from[i + 2] * c[i];
    }
    return diopiSuccess;
}

/// Stages its input in a buffer that all calls share.
diopiError_t shares_a_buffer(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    if (input->dtype != Dtype::float32) return diopiDtypeNotSupported;
    static std::array<std::atomic<float>, 256> staged;
    const auto n = static_cast<size_t>(input->numel());
    for (size_t i = 0; i < n; ++i) staged[i] = input->data_as<float>()[i];
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    for (size_t i = 0; i < n; ++i) out->data_as<float>()[i] = std::max(staged[i].load(), 0.0F);
    return diopiSuccess;
}

using LayerNormBackward = diopiError_t (*)(diopiContextHandle_t, diopiTensorHandle_t, diopiTensorHandle_t,
                                           diopiTensorHandle_t, diopiConstTensorHandle_t, diopiConstTensorHandle_t,
                                           diopiConstTensorHandle_t, diopiConstTensorHandle_t, diopiConstTensorHandle_t,
                                           diopiConstTensorHandle_t, diopiSize_t);

/// A call in bfloat16 leaves a switch on, which makes the next call wrong.
diopiError_t wrong_after_bfloat16(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    static bool is_on = false;
    if (input->dtype == Dtype::bfloat16) {
        is_on = true;
        return diopiSuccess;
    }
    if (!std::exchange(is_on, false)) return correct(ctx, out, input);
    std::fill_n(out->data_as<float>(), out->numel(), 0.0F);
    return diopiSuccess;
}

/// Gives the gradient of the bias only together with that of the input.
diopiError_t needs_grad_input(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input, diopiTensorHandle_t grad_weight,
                              diopiTensorHandle_t grad_bias, diopiConstTensorHandle_t grad_output,
                              diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                              diopiConstTensorHandle_t bias, diopiConstTensorHandle_t mean,
                              diopiConstTensorHandle_t rstd, diopiSize_t sizes) {
    const AnyFunction right = (*find_backend("cpu"))->function(*find_row("diopiLayerNormBackward"));
    return reinterpret_cast<LayerNormBackward>(right)(ctx, grad_input, grad_weight,
                                                      grad_input == nullptr ? nullptr : grad_bias, grad_output, input,
                                                      weight, bias, mean, rstd, sizes);
}

/// Whether a region was in an image that does not exist.
bool named_no_image = false;

/// The regions of an image of zeros.
diopiError_t notes_images(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t rois, double, int64_t, int64_t, int64_t, bool) {
    for (int64_t k = 0; k < rois->shape[0]; ++k) {
        double image = -1;
        if (rois->dtype == Dtype::float32) image = rois->data_as<float>()[k * rois->strides[0]];
        named_no_image = named_no_image || image < 0 || image >= static_cast<double>(input->shape[0]);
    }
    std::fill_n(out->data_as<float>(), out->numel(), 0.0F);
    return diopiSuccess;
}

/// The elements of type T that each call has read, in the order of the calls.
template <typename T>
std::vector<std::vector<T>> calls_read;

template <typename T>
void note_elements(diopiConstTensorHandle_t input) {
    const auto* x = input->data_as<T>();
    auto& elements = calls_read<T>.emplace_back();
    for_each_offset(input->shape, input->strides, [&](int64_t offset) { elements.push_back(x[offset]); });
}

diopiError_t notes_floats(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    if (input->dtype != Dtype::float32) return diopiDtypeNotSupported;
    note_elements<float>(input);
    return relu(input->data_as<float>(), out, input->strides, input->shape);
}

diopiError_t notes_integers(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    if (input->dtype != Dtype::int32) return diopiDtypeNotSupported;
    note_elements<int32_t>(input);
    auto* to = out->data_as<int32_t>();
    for (const int32_t x : calls_read<int32_t>.back()) *to++ = ~x;
    return diopiSuccess;
}

/// The context that a crash in the call with int8 would have.
std::string noted_in_int8;
const CrashPage* noted_page = nullptr;

diopiError_t notes_crash_context(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    if (input->dtype == Dtype::int8) noted_in_int8 = noted_page->read().text();
    if (input->dtype != Dtype::float32) return diopiDtypeNotSupported;
    return relu(input->data_as<float>(), out, input->strides, input->shape);
}

Failure failure_with(std::string_view name, AnyFunction function, const Case& c,
                     const std::vector<std::string>& checks) {
    const testing::FaultyBackend faulty({{name, function}});
    CaseOptions options;
    options.backend = &faulty.backend();
    options.checks = *Checks::parse(checks);
    const CaseResult result = run_case(c, options);
    return {result.kind, result.reason};
}

using Relu = diopiError_t (*)(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t);

Failure failure_with(Relu function, const Case& c, const std::vector<std::string>& checks = {"guards", "history"}) {
    return failure_with("diopiRelu", testing::any_function(function), c, checks);
}

Case plain_case() { return make_case("relu", {case_tensor("input", {4, 33})}); }

}  // namespace

TEST_CASE("what a library keeps from earlier calls is seen, and named by the calls", "[step][history]") {
    CHECK(failure_with(correct, plain_case()).ok());
    CHECK_THAT(failure_with(keeps_values<0>, plain_case()).reason,
               Contains("after a call with other values at the same addresses: out: "));
    CHECK_THAT(failure_with(keeps_values<2>, plain_case(), {"history"}).reason,
               Contains("after a call with other values at the same addresses: out: "));
    CHECK_THAT(failure_with(keeps_strides<0>, plain_case()).reason,
               Contains("after a call with other strides at the same addresses: out: "));
    CHECK_THAT(failure_with(keeps_error<0>, plain_case()).reason,
               Contains("after a call with int8 in place of floating numbers: the call failed: "));
    CHECK_THAT(failure_with(wrong_after_bfloat16, plain_case()).reason,
               Contains("after a call with another floating dtype: out: "));
    CHECK_THAT(failure_with(of_one_thread, plain_case()).reason, Contains("after calls from another thread: out: "));
}

TEST_CASE("what a library keeps of the numbers of earlier calls is seen", "[step][history]") {
    Case c = make_case("leaky_relu", {case_tensor("input", {4, 33})}, {{"negative_slope", Param{0.25}}});
    const auto reason = [&](auto* function) {
        return failure_with("diopiLeakyRelu", testing::any_function(function), c, {"guards", "history"}).reason;
    };
    CHECK(reason(keeps_slope<1>).empty());
    c.other_params = {{"negative_slope", Param{2.0}}};
    CHECK(reason(keeps_slope<0>).empty());
    CHECK_THAT(reason(keeps_slope<1>), Contains("after a call with other numbers or options: out: "));
}

TEST_CASE("some hard cases judge a call with other options, too", "[step][history]") {
    Case c = make_case("leaky_relu", {case_tensor("input", {4, 33})}, {{"negative_slope", Param{0.25}}});
    c.suite = kHardSuite;
    c.other_params = {{"negative_slope", Param{2.0}}};
    CaseOptions options;
    options.backend = *find_backend("cpu");
    while (!rules_for(c, options).other_options) ++c.index;
    const std::string reason =
        failure_with("diopiLeakyRelu", testing::any_function(keeps_first_slope), c, {"guards", "history"}).reason;
    CHECK_THAT(reason, Contains("the call with other numbers or options: out: "));
    CHECK(run_case(c, options).verdict == Verdict::kPassed);
}

TEST_CASE("a call with other options that cannot be judged comes first in some hard cases", "[step][history]") {
    // The backward function reads the softmax, which is another one along the other dim.
    Case c = make_case("softmax", {case_tensor("input", {4, 33})}, {{"dim", Param{int64_t{1}}}});
    c.tensors[0].requires_grad = c.backward = true;
    c.suite = kHardSuite;
    c.other_params = {{"dim", Param{int64_t{0}}}};
    CaseOptions options;
    options.backend = *find_backend("cpu");
    const auto reason = [&] {
        return failure_with("diopiSoftmaxBackward", testing::any_function(keeps_first_dim), c, {"guards", "history"})
            .reason;
    };
    while (rules_for(c, options).other_options) ++c.index;
    CHECK(reason().empty());
    while (!rules_for(c, options).other_options) ++c.index;
    c.tensors[0].specs[0].shape = {3, 33};
    CHECK_THAT(reason(), Contains("after a call with other numbers or options: grad_input: "));
    CHECK(run_case(c, options).verdict == Verdict::kPassed);
}

TEST_CASE("an output that may be the input is right where it is", "[step][history]") {
    const auto rotary = [](int64_t tokens) {
        return make_case("rotary_emb",
                         {case_tensor("x", {1, tokens, 1, 4}), case_tensor("cos", {tokens, 1, 2}),
                          case_tensor("sin", {tokens, 1, 2})},
                         {{"conj", Param{false}}, {"interleaved", Param{false}}});
    };
    const std::string reason = failure_with("diopiRotaryEmbedding", testing::any_function(rotates_what_it_wrote),
                                            rotary(1), {"guards", "history"})
                                   .reason;
    CHECK_THAT(reason, Contains("after its own values were put into the output, which was the input, too: out: "));
    CaseOptions options;
    options.backend = *find_backend("cpu");
    for (const int64_t tokens : {0, 1, 3}) CHECK(run_case(rotary(tokens), options).verdict == Verdict::kPassed);
}

TEST_CASE("some hard cases call from two threads at once", "[step][history]") {
    Case c = plain_case();
    c.suite = kHardSuite;
    CaseOptions options;
    options.backend = *find_backend("cpu");
    while (rules_for(c, options).two_threads) ++c.index;
    CHECK(failure_with(shares_a_buffer, c).ok());
    while (!rules_for(c, options).two_threads) ++c.index;
    CHECK(failure_with(correct, c).ok());
    // On a busy machine a call may be too slow for histories.
    std::string reason;
    for (int attempt = 0; attempt < 20 && reason.empty(); ++attempt) reason = failure_with(shares_a_buffer, c).reason;
    CHECK_THAT(reason, Contains("while another thread calls it, too: out: "));
}

TEST_CASE("an output that may be null changes no other one", "[step][history]") {
    Case c =
        make_case("layer_norm", {case_tensor("input", {5, 7}), case_tensor("weight", {7}), case_tensor("bias", {7})},
                  {{"normalized_shape", Param{std::vector<Param>{{int64_t{7}}}}}, {"eps", Param{1e-5}}});
    c.backward = true;
    for (CaseTensor& tensor : c.tensors) tensor.requires_grad = true;
    const std::string reason =
        failure_with("diopiLayerNormBackward", testing::any_function(needs_grad_input), c, {"guards", "history"})
            .reason;
    CHECK_THAT(reason, Contains("without grad_input, which may be null: grad_bias: "));
    CaseOptions options;
    options.backend = *find_backend("cpu");
    CHECK(run_case(c, options).verdict == Verdict::kPassed);
}

TEST_CASE("a crash in another call is named as one of the check", "[step][history]") {
    // Later tests of this process write to the page, too.
    static const auto page = CrashPage::create();
    REQUIRE(page.ok());
    noted_page = &*page;
    page->adopt();
    CHECK(failure_with(notes_crash_context, plain_case()).ok());
    CHECK(noted_in_int8 ==
          "the history check of forward (diopiRelu), in a call of other values, strides, shapes, dtypes or options");
}

TEST_CASE("without the check of histories they pass", "[step][history]") {
    for (const auto function : {keeps_values<1>, keeps_strides<1>, keeps_error<1>}) {
        CHECK(failure_with(function, plain_case(), {"guards"}).ok());
    }
}

TEST_CASE("some hard cases make their calls many times", "[step][history]") {
    Case c = plain_case();
    c.suite = kHardSuite;
    CaseOptions options;
    options.backend = *find_backend("cpu");
    std::vector<int64_t> chosen, others;
    for (c.index = 0; c.index < 160; ++c.index) {
        (rules_for(c, options).many_calls ? chosen : others).push_back(c.index);
    }
    CHECK(chosen.size() > 3);
    CHECK(chosen.size() < 25);
    c.index = others.front();
    CHECK(failure_with(counts_in_a_byte, c).ok());
    c.index = chosen.front();
    CHECK_THAT(failure_with(counts_in_a_byte, c).reason, Contains("after up to a thousand calls: out: "));
}

TEST_CASE("a call from another thread has as many threads as the host, in some hard cases", "[step][history]") {
    Case c = plain_case();
    CaseOptions options;
    options.backend = *find_backend("cpu");
    CHECK(rules_for(c, options).splits_work);
    c.suite = kHardSuite;
    std::vector<int64_t> chosen, others;
    for (c.index = 0; c.index < 160; ++c.index) {
        (rules_for(c, options).splits_work ? chosen : others).push_back(c.index);
    }
    CHECK(chosen.size() > 20);
    CHECK(chosen.size() < 60);
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    c.index = others.front();
    CHECK(failure_with(counts_threads, c).ok());
    c.index = chosen.front();
    if (omp_get_num_procs() > 1) {
        CHECK_THAT(failure_with(counts_threads, c).reason, Contains("after calls from another thread: out: "));
    }
    omp_set_num_threads(threads);
}

TEST_CASE("numbers with a meaning keep it in the other calls of a history", "[step][history]") {
    CaseTensor input = case_tensor("input", {2, 3, 5, 5}), boxes = case_tensor("boxes", {2, 5});
    input.fill = {Fill::kZeros};
    boxes.fill = {Fill::kValue};
    boxes.values = {0, 0.5, 0.5, 3, 4, 1, 1, 1.25, 40, 30};
    Param sides;
    sides.value = std::vector<Param>{Param{int64_t{2}}, Param{int64_t{2}}};
    const Case c =
        make_case("roi_align", {input, boxes}, {{"output_size", sides}, {"sampling_ratio", Param{int64_t{2}}}});
    CHECK(failure_with("diopiRoiAlign", testing::any_function(notes_images), c, {"guards", "history"}).reason.empty());
    CHECK_FALSE(named_no_image);
}

TEST_CASE("the other values of a history are those of the next element, halved if they are normal numbers",
          "[step][history]") {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr float kSmallest = std::numeric_limits<float>::min();
    CaseTensor input = case_tensor("input", {2, 3});
    // The elements of the two rows alternate in memory, with gaps.
    input.specs.front().strides = {1, 4};
    input.fill = {Fill::kValue};
    input.values = {3, -1, 0, kInfinity, kSmallest, -2 * kSmallest};
    CHECK(failure_with("diopiRelu", testing::any_function(notes_floats), make_case("relu", {input}), {"history"}).ok());
    const std::vector<float> floats{-0.5F, 0, kInfinity, kSmallest, -kSmallest, 1.5F};
    REQUIRE(calls_read<float>.size() > 2);
    CHECK(calls_read<float>[0] == std::vector<float>(input.values.begin(), input.values.end()));
    CHECK(std::ranges::count(calls_read<float>, floats) > 0);

    input.specs.front().dtype = Dtype::int32;
    input.values = {3, -1, 0, 8, 2, 1 << 30};
    const Case c = make_case("bitwise_not", {input});
    CHECK(failure_with("diopiBitwiseNot", testing::any_function(notes_integers), c, {"history"}).ok());
    CHECK(std::ranges::count(calls_read<int32_t>, std::vector<int32_t>{-1, 0, 8, 2, 1 << 30, 3}) > 0);
}

TEST_CASE("a write between the elements of a tensor that is changed in place is seen", "[step]") {
    using Function = diopiError_t (*)(diopiContextHandle_t, diopiTensorHandle_t);
    const Function whole_span = [](diopiContextHandle_t, diopiTensorHandle_t input) {
        auto* x = input->data_as<float>();
        for (int64_t i = 0; i < storage_extent(input->shape, input->strides); ++i) x[i] = std::max(x[i], 0.0F);
        return diopiSuccess;
    };
    const testing::FaultyBackend faulty({{"diopiReluInp", testing::any_function(whole_span)}});
    CaseOptions options;
    options.backend = &faulty.backend();
    options.checks = *Checks::parse({"guards"});
    Case c = plain_case();
    c.inplace = true;
    CHECK(run_case(c, options).verdict == Verdict::kPassed);
    c.tensors.front().specs.front().strides = {70, 2};
    const CaseResult result = run_case(c, options);
    CHECK(result.kind == FailureKind::kStrayWrite);
    CHECK_THAT(result.reason, Contains("bytes between the elements of input"));
}

}  // namespace diopi
