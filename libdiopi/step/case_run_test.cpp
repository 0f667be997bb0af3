#include "step/case_run.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "backend/faulty_testing.hpp"
#include "cases/draw.hpp"
#include "cases/plan.hpp"
#include "cases/testing.hpp"
#include "runtime/device_decorator.hpp"

namespace diopi {

namespace {

using testing::case_tensor;
using testing::make_case;

/// The cpu backend with one function replaced.
class Faulty {
 public:
    Faulty(std::string_view function, AnyFunction replacement) : faulty_({{function, replacement}}) {}
    CaseResult run(const Case& c, const Checks& checks = {}) {
        CaseOptions options;
        options.backend = &faulty_.backend();
        options.checks = checks;
        options.on_failure = on_failure;
        return run_case(c, options);
    }

    std::function<void(const Case&, const FailedStep&)> on_failure;

 private:
    testing::FaultyBackend faulty_;
};

Case relu_case() { return make_case("relu", {case_tensor("input", {4, 33})}); }

Case scaled_add(double alpha) {
    Case c = relu_case();
    c.op = "add";
    c.tensors.push_back(case_tensor("other", {4, 33}));
    c.params = {{"alpha", Param{alpha}}};
    return c;
}

struct Pair {
    const float* in;
    float* out;
    int64_t n;
};

Pair open_pair(diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return {input->data_as<float>(), out->data_as<float>(), input->numel()};
}

diopiError_t relu_without_last(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    const Pair p = open_pair(out, input);
    for (int64_t i = 0; i + 1 < p.n; ++i) p.out[i] = std::max(p.in[i], 0.0f);
    return diopiSuccess;
}

diopiError_t relu_that_writes_its_input(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    const Pair p = open_pair(out, input);
    for (int64_t i = 0; i < p.n; ++i) p.out[i] = std::max(p.in[i], 0.0f);
    const_cast<float*>(p.in)[0] += 1;
    return diopiSuccess;
}

diopiError_t relu_that_reshapes(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    relu_without_last(nullptr, out, input);
    std::swap(out->shape[0], out->shape[1]);
    return diopiSuccess;
}

diopiError_t relu_that_fails(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {
    return diopiErrorOccurred;
}

diopiError_t relu_that_writes_its_input_and_fails(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                                  diopiConstTensorHandle_t input) {
    relu_that_writes_its_input(ctx, out, input);
    return diopiErrorOccurred;
}

diopiError_t relu_that_declines(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {
    return diopiDtypeNotSupported;
}

/// relu, and then the fault that a test plants.
template <void (*kFault)(const Pair&)>
diopiError_t relu_and(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    const Pair p = open_pair(out, input);
    for (int64_t i = 0; i < p.n; ++i) p.out[i] = std::max(p.in[i], 0.0f);
    kFault(p);
    return diopiSuccess;
}

void write_past_the_end(const Pair& p) { p.out[p.n + 2] = 1; }
void write_before_the_start(const Pair& p) { p.out[-1] = 1; }
void write_past_the_input(const Pair& p) { const_cast<float*>(p.in)[p.n] = 1; }
void count_the_calls(const Pair& p) {
    static float calls = 0;
    p.out[3] += ++calls * 1e-6f;
}
void write_one_input(const Pair& p) {
    static int calls = 0;
    if (++calls == 1) const_cast<float*>(p.in)[2] += 1;
}
/// When the checks of inputs have ended.
void write_an_input_late(const Pair& p) {
    static int calls = 0;
    if (++calls == 4) const_cast<float*>(p.in)[2] = 7;
}
void change_from_the_second_call_on(const Pair& p) {
    static int calls = 0;
    if (++calls > 1) p.out[3] += 0.5f;
}
void keep_memory(const Pair&) {
    static std::vector<std::unique_ptr<char[]>> kept;
    kept.push_back(std::make_unique<char[]>(200));
}

/// Leaves the C allocator with many free pieces of the size that keep_memory takes, so that it refills its cache by
/// several at once.
void free_many_pieces() {
    std::vector<std::unique_ptr<char[]>> pieces(2000);
    for (auto& piece : pieces) piece = std::make_unique<char[]>(200);
    for (size_t i = 0; i < pieces.size(); i += 2) pieces[i].reset();
    // The pieces between them stay, so that the free ones do not join.
    static std::vector<std::unique_ptr<char[]>> kept;
    for (auto& piece : pieces) {
        if (piece != nullptr) kept.push_back(std::move(piece));
    }
}

int64_t g_slip = -1;  ///< the place of a wrong element; -1: none

diopiError_t log_softmax_backward_with_a_slip(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                              diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output,
                                              int64_t dim) {
    const AnyFunction right = (*find_backend("cpu"))->function(*find_row("diopiLogSoftmaxBackward"));
    const diopiError_t error =
        reinterpret_cast<decltype(&log_softmax_backward_with_a_slip)>(right)(ctx, grad_input, grad_output, output, dim);
    if (g_slip >= 0) grad_input->data_as<float>()[g_slip] += 0.5f;
    return error;
}

int g_slow_calls = 0;

diopiError_t slow_leaky_relu_backward(diopiContextHandle_t, diopiTensorHandle_t grad_input,
                                      diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                      const diopiScalar_t* negative_slope, bool) {
    ++g_slow_calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
    for (int64_t i = 0; i < input->numel(); ++i) {
        const auto slope = static_cast<float>(input->data_as<float>()[i] > 0 ? 1 : negative_slope->fval);
        grad_input->data_as<float>()[i] = slope * grad_output->data_as<float>()[i];
    }
    return diopiSuccess;
}

/// Keeps memory after the first two calls, which are timed, and sleeps in those.
void keep_memory_later(const Pair& p) {
    static int calls = 0;
    if (++calls > 2) return keep_memory(p);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
}

/// Keeps four large plans, of which two windows of calls see some.
void keep_plans(const Pair&) {
    static std::vector<std::unique_ptr<char[]>> plans;
    static int calls = 0;
    if (++calls % 4 == 0 && plans.size() < 4) plans.push_back(std::make_unique<char[]>(40'000));
}

/// input + alpha * other with a rounding after the product and one after the sum, and an error of `kUlps` ulps.
template <int kUlps>
diopiError_t add_in_two_roundings(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                  diopiConstTensorHandle_t other, const diopiScalar_t* alpha) {
    const Pair p = open_pair(out, input);
    const auto factor = static_cast<float>(alpha->fval);
    for (int64_t i = 0; i < p.n; ++i) {
        const float product = factor * other->data_as<float>()[i];
        p.out[i] = p.in[i] + product;
        for (int k = 0; k < kUlps; ++k) p.out[i] = std::nextafter(p.out[i], HUGE_VALF);
    }
    return diopiSuccess;
}

/// input times weight transposed, without a bias, with an error of one ulp.
diopiError_t linear_with_a_slip(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                diopiConstTensorHandle_t weight, diopiConstTensorHandle_t) {
    const int64_t terms = input->shape[1], columns = weight->shape[0];
    for (int64_t i = 0; i < out->numel(); ++i) {
        double sum = 0;
        for (int64_t k = 0; k < terms; ++k) {
            const float factor = weight->data_as<float>()[i % columns * terms + k];
            sum += input->data_as<float>()[i / columns * terms + k] * factor;
        }
        out->data_as<float>()[i] = std::nextafter(static_cast<float>(sum), HUGE_VALF);
    }
    return diopiSuccess;
}

/// Counts blocks that are handed out while a copy may still run to the freed block before.
class WatchedCopies final : public DeviceDecorator {
 public:
    explicit WatchedCopies(int failing) : DeviceDecorator(cpu_device()), failing_(failing) {}

    int overtaken = 0;
    [[nodiscard]] bool freed_early() const { return copies_->freed_early; }

    bool is_host() const override { return false; }
    Result<std::shared_ptr<void>> allocate(size_t nbytes) override {
        if (++allocations_ == failing_) return failed("no memory left");
        if (copies_->freed_early) ++overtaken;
        auto memory = device_->allocate(nbytes);
        if (!memory.ok()) return memory;
        const auto* start = static_cast<const std::byte*>(memory->get());
        return std::shared_ptr<void>(memory->get(), [copies = copies_, start, nbytes, kept = *memory](void*) mutable {
            const auto to = copies->under_way.lower_bound(start);
            if (to != copies->under_way.end() && *to < start + nbytes) copies->freed_early = true;
            kept.reset();
        });
    }
    Status copy_to_device(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) override {
        if (stream != nullptr) copies_->under_way.insert(static_cast<const std::byte*>(dst));
        return device_->copy_to_device(nullptr, dst, src, nbytes);
    }
    Status copy_to_host(diopiStreamHandle_t, void* dst, const void* src, size_t nbytes) override {
        return device_->copy_to_host(nullptr, dst, src, nbytes);
    }
    Status copy_on_device(diopiStreamHandle_t, void* dst, const void* src, size_t nbytes) override {
        return device_->copy_to_host(nullptr, dst, src, nbytes);
    }
    Status pause(diopiStreamHandle_t, double) override { return {}; }
    Status synchronize(diopiStreamHandle_t stream) override {
        if (stream != nullptr) *copies_ = {};
        return {};
    }
    Result<diopiStreamHandle_t> create_stream() override { return static_cast<diopiStreamHandle_t>(this); }
    Status destroy_stream(diopiStreamHandle_t) override { return {}; }

 private:
    struct Copies {
        std::set<const std::byte*> under_way;
        bool freed_early = false;
    };
    int failing_, allocations_ = 0;
    std::shared_ptr<Copies> copies_ = std::make_shared<Copies>();
};

diopiError_t cholesky_without_error(diopiContextHandle_t, diopiTensorHandle_t out, diopiTensorHandle_t info,
                                    diopiConstTensorHandle_t, bool, bool) {
    std::fill_n(out->data_as<float>(), out->numel(), 1.0f);
    *info->data_as<int32_t>() = 1;
    return diopiSuccess;
}

diopiError_t clip_before_error(diopiContextHandle_t, double* out, diopiTensorHandle_t* grads, int64_t, double, double,
                               bool) {
    *out = 0;
    grads[0]->data_as<float>()[0] = 7;
    return diopiErrorOccurred;
}

/// A matrix that is not positive definite.
Case cholesky_case(bool asks_for_error) {
    CaseTensor mat = case_tensor("mat", {2, 2});
    mat.fill = {Fill::kValue};
    mat.values = {1, 2, 2, 1};
    return make_case("cholesky_ex", {mat}, {{"checkerror", Param{asks_for_error}}});
}

Case clip_case(double last) {
    CaseTensor grad = case_tensor("grads", {2});
    grad.is_list = true;
    grad.fill = {Fill::kValue};
    grad.values = {1, last};
    return make_case("clip_grad_norm_", {grad}, {{"max_norm", Param{0.5}}, {"error_if_nonfinite", Param{true}}});
}

Case attention_case() {
    Case c = make_case(
        "customized_flash_attention",
        {case_tensor("q", {1, 3, 2, 4}), case_tensor("k", {1, 5, 2, 4}), case_tensor("v", {1, 5, 2, 4})},
        {{"p_dropout", Param{0.0}}, {"head_num", Param{int64_t{2}}}, {"input_layout", Param{std::string("BSND")}}});
    for (CaseTensor& tensor : c.tensors) tensor.requires_grad = true;
    c.backward = true;
    c.saved = {{"out", 0}};
    REQUIRE(plan(c).ok());
    return c;
}

constexpr int64_t kSecret = 4711;

/// Attention that keeps a secret for its gradients in dropout_mask.
template <diopiError_t kAnswer = diopiSuccess>
diopiError_t attention_with_secret(diopiContextHandle_t ctx, diopiTensorHandle_t attention_out,
                                   diopiTensorHandle_t* dropout_mask, diopiTensorHandle_t* softmax_max,
                                   diopiTensorHandle_t* softmax_sum, diopiTensorHandle_t* softmax_out,
                                   diopiGeneratorHandle_t gen, diopiConstTensorHandle_t q, diopiConstTensorHandle_t k,
                                   diopiConstTensorHandle_t v, diopiConstTensorHandle_t alibi_slopes,
                                   diopiConstTensorHandle_t attention_mask, float p_dropout, float softmax_scale,
                                   bool is_causal, int32_t window_size_left, int32_t window_size_right,
                                   int32_t head_num, const char* input_layout) {
    if (kAnswer != diopiSuccess) return kAnswer;
    const auto right = reinterpret_cast<decltype(&attention_with_secret<>)>(
        (*find_backend("cpu"))->function(*find_row("diopiCustomizedFlashAttention")));
    const diopiError_t error = right(ctx, attention_out, dropout_mask, softmax_max, softmax_sum, softmax_out, gen, q, k,
                                     v, alibi_slopes, attention_mask, p_dropout, softmax_scale, is_causal,
                                     window_size_left, window_size_right, head_num, input_layout);
    if (error != diopiSuccess) return error;
    const int64_t one = 1;
    const diopiSize_t size{&one, 1};
    if (diopiRequireTensor(ctx, dropout_mask, &size, nullptr, diopi_dtype_int64, diopi_device) != diopiSuccess) {
        return diopiErrorOccurred;
    }
    *(*dropout_mask)->data_as<int64_t>() = kSecret;
    return diopiSuccess;
}

/// Its gradients, which are wrong without the secret.
diopiError_t gradients_with_secret(diopiContextHandle_t ctx, diopiTensorHandle_t grad_q, diopiTensorHandle_t grad_k,
                                   diopiTensorHandle_t grad_v, diopiConstTensorHandle_t grad_output,
                                   diopiConstTensorHandle_t q, diopiConstTensorHandle_t k, diopiConstTensorHandle_t v,
                                   diopiConstTensorHandle_t alibi_slopes, diopiConstTensorHandle_t attention_out,
                                   diopiConstTensorHandle_t attention_mask, diopiConstTensorHandle_t dropout_mask,
                                   diopiConstTensorHandle_t softmax_max, diopiConstTensorHandle_t softmax_sum,
                                   diopiConstTensorHandle_t softmax_out, float p_dropout, float softmax_scale,
                                   bool is_causal, int32_t window_size_left, int32_t window_size_right,
                                   int32_t head_num, const char* input_layout) {
    if (dropout_mask == nullptr || *dropout_mask->data_as<int64_t>() != kSecret || softmax_max == nullptr) {
        return diopiErrorOccurred;
    }
    const auto right = reinterpret_cast<decltype(&gradients_with_secret)>(
        (*find_backend("cpu"))->function(*find_row("diopiCustomizedFlashAttentionBackward")));
    return right(ctx, grad_q, grad_k, grad_v, grad_output, q, k, v, alibi_slopes, attention_out, attention_mask,
                 dropout_mask, softmax_max, softmax_sum, softmax_out, p_dropout, softmax_scale, is_causal,
                 window_size_left, window_size_right, head_num, input_layout);
}

CaseResult run_with_secret(AnyFunction forward) {
    const testing::FaultyBackend chip(
        {{"diopiCustomizedFlashAttention", forward},
         {"diopiCustomizedFlashAttentionBackward", testing::any_function(gradients_with_secret)}});
    CaseOptions options;
    options.backend = &chip.backend();
    CaseResult result = run_case(attention_case(), options);
    REQUIRE(result.steps.size() == 2);
    return result;
}

}  // namespace

TEST_CASE("gradients get what the library's own forward function made for them") {
    const CaseResult result = run_with_secret(testing::any_function(attention_with_secret<>));
    INFO(result.reason);
    CHECK(result.verdict == Verdict::kPassed);
}

TEST_CASE("gradients get nothing of a forward function that is missing or declines") {
    const AnyFunction declining = testing::any_function(attention_with_secret<diopiDtypeNotSupported>);
    for (const AnyFunction forward : {AnyFunction(nullptr), declining}) {
        const CaseResult result = run_with_secret(forward);
        CHECK(result.steps[0].verdict == Verdict::kNotImplemented);
        CHECK(result.steps[1].verdict == Verdict::kFailed);
        CHECK_THAT(result.steps[1].reason, !Catch::Contains("diopiCustomizedFlashAttention:"));
    }
}

TEST_CASE("gradients of a forward function that fails name it") {
    const CaseResult result = run_with_secret(testing::any_function(attention_with_secret<diopiErrorOccurred>));
    CHECK(result.steps[1].verdict == Verdict::kFailed);
    CHECK_THAT(result.steps[1].reason, Catch::StartsWith("diopiCustomizedFlashAttention: "));
}

TEST_CASE("a library that has the backward function alone is judged by it") {
    const auto wrong = [](diopiContextHandle_t, diopiTensorHandle_t grad_input, diopiConstTensorHandle_t,
                          diopiConstTensorHandle_t) {
        std::fill_n(grad_input->data_as<float>(), grad_input->numel(), 1.0f);
        return diopiSuccess;
    };
    Case c = relu_case();
    c.op = "tanh";
    c.backward = true;
    const testing::FaultyBackend faulty({{"diopiTanh", nullptr}, {"diopiTanhBackward", testing::any_function(+wrong)}});
    CaseOptions options;
    options.backend = &faulty.backend();
    const CaseResult result = run_case(c, options);
    REQUIRE(result.steps.size() == 2);
    CHECK(result.steps[0].verdict == Verdict::kNotImplemented);
    CHECK(result.steps[0].absent == "diopiTanh");
    CHECK(result.steps[1].kind == FailureKind::kValues);
    CHECK(result.verdict == Verdict::kFailed);
}

TEST_CASE("an error that the call asks for must come, and leave in-out arguments as they are") {
    const auto run = [](const Case& c) {
        CaseOptions options;
        options.backend = *find_backend("cpu");
        return run_case(c, options);
    };
    CHECK(run(cholesky_case(true)).verdict == Verdict::kPassed);
    CHECK(run(clip_case(std::nan(""))).verdict == Verdict::kPassed);
    CHECK(run(clip_case(2)).verdict == Verdict::kPassed);

    Faulty silent("diopiCholesky", testing::any_function(cholesky_without_error));
    const CaseResult accepted = silent.run(cholesky_case(true));
    CHECK(accepted.kind == FailureKind::kAccepted);
    CHECK_THAT(accepted.reason,
               Catch::Contains("returned success, and must return an error; reference: diopiErrorOccurred: mat: "));

    Faulty early("diopiClipGradNorm", testing::any_function(clip_before_error));
    const CaseResult written = early.run(clip_case(std::nan("")));
    CHECK(written.kind == FailureKind::kStrayWrite);
    CHECK_THAT(written.reason, Catch::Contains("returned an error, but wrote to an argument"));
}

TEST_CASE("copies for a call that cannot begin end before their memory is used again") {
    Case c = scaled_add(1);
    c.inplace = true;
    int failed = 0;
    for (int failing = 1; failing <= 48; ++failing) {
        WatchedCopies device(failing);
        const Backend backend = (*find_backend("cpu"))->on(device);
        CaseOptions options;
        options.backend = &backend;
        options.checks = *Checks::parse({"guards", "stream"});
        const CaseResult result = run_case(c, options);
        INFO("allocation " << failing << " fails: " << result.reason);
        failed += result.verdict == Verdict::kFailed ? 1 : 0;
        CHECK(device.overtaken == 0);
        CHECK_FALSE(device.freed_early());
    }
    CHECK(failed > 10);
    CHECK(failed < 48);
}

TEST_CASE("a case passes on the cpu backend and has its deviations") {
    const CaseResult result = Faulty("", nullptr).run(relu_case());
    CHECK(result.verdict == Verdict::kPassed);
    REQUIRE(result.steps.size() == 1);
    CHECK(result.steps[0].deviations.at(0).numel == 4 * 33);
}

TEST_CASE("an element that was not written fails the case") {
    const CaseResult result = Faulty("diopiRelu", testing::any_function(relu_without_last)).run(relu_case());
    CHECK(result.verdict == Verdict::kFailed);
    CHECK_THAT(result.reason, Catch::Contains("last element"));
}

TEST_CASE("an input that the function modifies fails the case") {
    const CaseResult result = Faulty("diopiRelu", testing::any_function(relu_that_writes_its_input)).run(relu_case());
    CHECK(result.verdict == Verdict::kFailed);
    CHECK_THAT(result.reason, Catch::Contains("input was modified"));
}

TEST_CASE("an output of another shape fails the case") {
    const CaseResult result = Faulty("diopiRelu", testing::any_function(relu_that_reshapes)).run(relu_case());
    CHECK(result.verdict == Verdict::kFailed);
    CHECK(result.kind == FailureKind::kForm);
    CHECK_THAT(result.reason, Catch::Contains("shape (33, 4) where (4, 33) is wanted"));
}

TEST_CASE("a fault around a call is found by the check for it") {
    struct Fault {
        AnyFunction relu;
        std::vector<std::string> check;
        FailureKind kind;
        const char* reason;
    };
    const Fault faults[] = {
        {testing::any_function(relu_and<write_past_the_end>),
         {"guards"},
         FailureKind::kStrayWrite,
         " past the end of out"},
        {testing::any_function(relu_and<write_before_the_start>),
         {"guards"},
         FailureKind::kStrayWrite,
         " before the start of out"},
        {testing::any_function(relu_and<write_past_the_input>),
         {"guards"},
         FailureKind::kStrayWrite,
         "past the end of input"},
        {testing::any_function(relu_and<count_the_calls>),
         {"repeat"},
         FailureKind::kNotRepeatable,
         "out: two runs on the same inputs differ in 1 of 132 elements"},
        {testing::any_function(relu_and<keep_memory>),
         {"leaks"},
         FailureKind::kKeepsMemory,
         "bytes of memory at each call"},
        {testing::any_function(relu_without_last),
         {"poison"},
         FailureKind::kUnwritten,
         "out: 1 of 132 elements were never written; last element"},
        {testing::any_function(relu_that_writes_its_input),
         {"inputs"},
         FailureKind::kInputModified,
         "input was modified"},
    };
    Case positive = relu_case();
    positive.tensors[0].fill.fn = Fill::kRand;
    for (const Fault& fault : faults) {
        INFO(fault.reason);
        const CaseResult seen = Faulty("diopiRelu", fault.relu).run(positive, *Checks::parse(fault.check));
        CHECK(seen.verdict == Verdict::kFailed);
        CHECK(seen.kind == fault.kind);
        CHECK(seen.steps.at(0).kind == fault.kind);
        CHECK_THAT(seen.reason, Catch::Contains(fault.reason));
    }
    free_many_pieces();
    CHECK(Faulty("diopiRelu", testing::any_function(relu_and<keep_memory>))
              .run(positive, *Checks::parse({"leaks"}))
              .kind == FailureKind::kKeepsMemory);
    CHECK(Faulty("diopiRelu", testing::any_function(relu_and<keep_memory>))
              .run(positive, *Checks::parse({"none"}))
              .verdict == Verdict::kPassed);
}

TEST_CASE("a step whose call changes an input is judged on the right inputs, and so are the steps behind it") {
    Case c = relu_case();
    c.inplace = true;
    Faulty faulty("diopiRelu", testing::any_function(relu_that_writes_its_input));
    std::vector<float> first_inputs;
    faulty.on_failure = [&](const Case&, const FailedStep& failed) {
        first_inputs.push_back(failed.step.call.tensor_at(ArgPlace(1))->data_as<float>()[0]);
    };
    const CaseResult seen = faulty.run(c);
    REQUIRE(seen.steps.size() == 2);
    CHECK(seen.steps[0].kind == FailureKind::kInputModified);
    CHECK(seen.steps[1].step == "inplace");
    CHECK(seen.steps[1].verdict == Verdict::kPassed);
    const auto drawn = draw(c.tensors[0], c.key(0));
    REQUIRE(drawn.ok());
    CHECK(first_inputs == std::vector<float>{drawn->front()->data_as<float>()[0]});
}

TEST_CASE("a change of an input that happens once is found") {
    const CaseResult seen = Faulty("diopiRelu", testing::any_function(relu_and<write_one_input>)).run(relu_case());
    CHECK(seen.kind == FailureKind::kInputModified);
    CHECK(seen.steps.size() == 1);
}

TEST_CASE("a change of an input by a later call is found, and none reaches the next step") {
    Case c = relu_case();
    c.inplace = true;
    for (const auto relu : {relu_and<write_an_input_late>, relu_that_writes_its_input_and_fails}) {
        const CaseResult seen = Faulty("diopiRelu", testing::any_function(relu)).run(c);
        REQUIRE(seen.steps.size() == 2);
        const bool has_failed = relu == relu_that_writes_its_input_and_fails;
        CHECK(seen.steps[0].verdict == Verdict::kFailed);
        CHECK(seen.steps[0].kind == (has_failed ? FailureKind::kError : FailureKind::kInputModified));
        if (!has_failed) CHECK_THAT(seen.steps[0].reason, Catch::Contains("diopiRelu, and a later call changed it"));
        CHECK(seen.steps[1].verdict == Verdict::kPassed);
    }
}

TEST_CASE("a failure behind the comparison of large values has the expected values all the same") {
    const int64_t rows = 3000, columns = 3000;
    const Case large = make_case("relu", {case_tensor("input", {rows, columns})});
    Faulty faulty("diopiRelu", testing::any_function(relu_and<change_from_the_second_call_on>));
    int64_t failures = 0, expected_numbers = 0;
    faulty.on_failure = [&](const Case&, const FailedStep& failed) {
        ++failures;
        for (const ArgTensor& value : failed.expected) expected_numbers += value.tensor->numel();
    };
    const CaseResult seen = faulty.run(large, *Checks::parse({"repeat"}));
    CHECK(seen.kind == FailureKind::kNotRepeatable);
    CHECK(failures == 1);
    CHECK(expected_numbers == rows * columns);
    REQUIRE(seen.steps.at(0).deviations.size() == 1);
    CHECK(seen.steps[0].deviations[0].numel == rows * columns);
}

TEST_CASE("a large call is compared in parts, and a wrong element of any part is found at its place") {
    const Shape shape = {2, 5, 1000, 1000};
    Case c = make_case("log_softmax", {case_tensor("input", shape)});
    c.params = {{"dim", Param{int64_t{1}}}};
    c.backward = true;
    CaseOptions options;
    testing::FaultyBackend faulty(
        {{"diopiLogSoftmaxBackward", testing::any_function(log_softmax_backward_with_a_slip)}});
    options.backend = &faulty.backend();
    options.checks = *Checks::parse({"none"});
    options.steps = {"backward"};
    for (const int64_t slip : {int64_t{-1}, int64_t{4'321'000}, numel(shape) - 1}) {
        g_slip = slip;
        const CaseResult seen = run_case(c, options);
        REQUIRE(seen.steps.size() == 1);
        REQUIRE(seen.steps[0].deviations.size() == 1);
        const Deviation& deviation = seen.steps[0].deviations[0];
        CHECK(deviation.numel == numel(shape));
        CHECK(deviation.max_ulp > 0);
        CHECK(deviation.cosine > 0.999);
        CHECK(deviation.mismatches == (slip < 0 ? 0 : 1));
        if (slip < 0) {
            CHECK(seen.verdict == Verdict::kPassed);
            CHECK(deviation.budget_used <= 1);
        } else {
            CHECK(seen.verdict == Verdict::kFailed);
            CHECK(deviation.worst_index ==
                  Shape{slip / 5'000'000, slip / 1'000'000 % 5, slip / 1000 % 1000, slip % 1000});
        }
    }
}

TEST_CASE("a leak of a small call is found even if the machine delays the call") {
    const CaseResult seen = Faulty("diopiRelu", testing::any_function(relu_and<keep_memory_later>)).run(relu_case());
    CHECK(seen.verdict == Verdict::kFailed);
    CHECK(seen.kind == FailureKind::kKeepsMemory);
}

TEST_CASE("a call that keeps some plans and then no more memory does not leak") {
    const CaseResult seen = Faulty("diopiRelu", testing::any_function(relu_and<keep_plans>)).run(relu_case());
    CHECK(seen.verdict == Verdict::kPassed);
}

TEST_CASE("a slow call of large tensors that keeps no memory is not repeated for a leak, in the second step neither") {
    Case c = make_case("leaky_relu", {case_tensor("input", {330'000})}, {{"negative_slope", Param{0.25}}});
    c.backward = true;
    g_slow_calls = 0;
    const CaseResult seen = Faulty("diopiLeakyReluBackward", testing::any_function(slow_leaky_relu_backward))
                                .run(c, *Checks::parse({"leaks"}));
    CHECK(seen.verdict == Verdict::kPassed);
    CHECK(g_slow_calls == 2);
}

TEST_CASE("a write past an edge is reported with its distance") {
    const auto reason = [](AnyFunction relu) { return Faulty("diopiRelu", relu).run(relu_case()).reason; };
    CHECK_THAT(reason(testing::any_function(relu_and<write_past_the_end>)),
               Catch::Contains(" past the end of out, the nearest 8 bytes"));
    CHECK_THAT(reason(testing::any_function(relu_and<write_before_the_start>)),
               Catch::Contains(" before the start of out, the nearest 0 bytes"));
    CHECK_THAT(reason(testing::any_function(relu_and<write_past_the_input>)),
               Catch::Contains(" past the end of input, the nearest 0"));
}

TEST_CASE("the values of --checks are read, printed and refused") {
    CHECK(Checks().text() == "all");
    CHECK(Checks::parse({"none"})->text() == "none");
    CHECK(Checks::parse({"pages", "all"})->text() == "all pages");
    CHECK(Checks::parse({"all", "pages"})->text() == "all pages");
    CHECK(Checks::parse({"guards", "leaks"})->text() == "guards leaks");
    CHECK_FALSE(Checks::parse({"none", "leaks"}).ok());
    CHECK_THAT(Checks::parse({"gaurds"}).error().message, Catch::Contains("did you mean 'guards'?"));
}

TEST_CASE("an error code fails the case, a declined call is not implemented") {
    CHECK(Faulty("diopiRelu", testing::any_function(relu_that_fails)).run(relu_case()).verdict == Verdict::kFailed);
    CHECK(Faulty("diopiRelu", testing::any_function(relu_that_declines)).run(relu_case()).verdict ==
          Verdict::kNotImplemented);
    CHECK(Faulty("diopiRelu", nullptr).run(relu_case()).verdict == Verdict::kNotImplemented);
}

TEST_CASE("a sum may have one rounding, a scaled sum two") {
    CHECK(Faulty("diopiAdd", testing::any_function(add_in_two_roundings<0>)).run(scaled_add(1)).verdict ==
          Verdict::kPassed);
    CHECK(Faulty("diopiAdd", testing::any_function(add_in_two_roundings<1>)).run(scaled_add(1)).verdict ==
          Verdict::kFailed);
    CHECK(Faulty("diopiAdd", testing::any_function(add_in_two_roundings<0>)).run(scaled_add(0.3)).verdict ==
          Verdict::kPassed);
    CHECK(Faulty("diopiAdd", testing::any_function(add_in_two_roundings<9>)).run(scaled_add(0.3)).verdict ==
          Verdict::kFailed);
}

TEST_CASE("sums must be exact if every floating input has small whole numbers") {
    Case c = make_case("linear", {case_tensor("input", {4, 333}), case_tensor("weight", {5, 333})});
    const auto verdict_of_slip = [&](Fill input, Fill weight) {
        c.tensors[0].fill.fn = input;
        c.tensors[1].fill.fn = weight;
        CHECK(Faulty("", nullptr).run(c).verdict == Verdict::kPassed);
        return Faulty("diopiLinear", testing::any_function(linear_with_a_slip)).run(c).verdict;
    };
    CHECK(verdict_of_slip(Fill::kExact, Fill::kExact) == Verdict::kFailed);
    CHECK(verdict_of_slip(Fill::kExact, Fill::kRandn) == Verdict::kPassed);
    CHECK(verdict_of_slip(Fill::kRandn, Fill::kExact) == Verdict::kPassed);
}

TEST_CASE("absent tensors and indices do not matter for exactness") {
    const auto is_exact = [](const Case& c) { return rules_for(c, {}).exact; };
    Case c = make_case("linear", {case_tensor("input", {4, 3}), case_tensor("weight", {5, 3}), case_tensor("bias", {5}),
                                  case_tensor("index", {5}, Dtype::int64)});
    c.tensors[0].fill.fn = c.tensors[1].fill.fn = Fill::kExact;
    CHECK_FALSE(is_exact(c));
    c.tensors[2].absent = true;
    CHECK(is_exact(c));
    c.tensors[1].fill.fn = Fill::kRandn;
    CHECK_FALSE(is_exact(c));
    c.tensors[1].specs[0].dtype = Dtype::complex64;
    CHECK_FALSE(is_exact(c));
    CHECK_FALSE(is_exact(make_case("add", {case_tensor("input", {4}, Dtype::int64)})));
}

TEST_CASE("a tolerance that replaces the class decides, except for integers") {
    Case c = scaled_add(1);
    c.tolerance.instead = Tolerance::Instead::kUlp;
    c.tolerance.max_ulp = 4;
    CHECK(Faulty("diopiAdd", testing::any_function(add_in_two_roundings<1>)).run(c).verdict == Verdict::kPassed);
    CHECK(Faulty("diopiAdd", testing::any_function(add_in_two_roundings<9>)).run(c).verdict == Verdict::kFailed);
    c.tolerance.instead = Tolerance::Instead::kTolerance;
    CHECK(Faulty("diopiAdd", testing::any_function(add_in_two_roundings<9>)).run(c).verdict == Verdict::kPassed);
    Case whole = relu_case();
    whole.tensors = {case_tensor("input", {4, 33}, Dtype::int32)};
    whole.tolerance.instead = Tolerance::Instead::kTolerance;
    whole.tolerance.atol = 1e9;
    CHECK(Faulty("diopiRelu", testing::any_function(relu_without_last)).run(whole).verdict == Verdict::kFailed);
}

TEST_CASE("an excused step does not run, and has the reason") {
    Case c = relu_case();
    c.inplace = true;
    c.skipped_steps = {{"forward", "no such thing"}};
    const CaseResult result = Faulty("diopiRelu", testing::any_function(relu_that_fails)).run(c);
    REQUIRE(result.steps.size() == 2);
    CHECK(result.steps[0].verdict == Verdict::kSkipped);
    CHECK(result.steps[0].reason == "no such thing");
    CHECK(result.steps[1].verdict == Verdict::kPassed);
    CHECK(result.verdict == Verdict::kSkipped);
    c.skipped_steps = {{"inplace", "why"}};
    CHECK(Faulty("diopiReluInp", testing::any_function(relu_that_fails)).run(c).steps[1].function == "relu_inp");
}

TEST_CASE("an in-place step whose result cannot be stored is left out") {
    Case c = relu_case();
    c.op = "add";
    c.tensors = {case_tensor("input", {4, 33}, Dtype::int64)};
    c.params = {{"other", Param{0.5}}};
    c.inplace = true;
    REQUIRE(plan(c).ok());
    const CaseResult result = Faulty("", nullptr).run(c);
    REQUIRE(result.steps.size() == 2);
    CHECK(result.steps[0].verdict == Verdict::kPassed);
    CHECK(result.steps[1].verdict == Verdict::kSkipped);
    CHECK_THAT(result.steps[1].reason, Catch::Contains("cannot be stored in place in int64"));
}

TEST_CASE("a case whose shapes contradict each other cannot be planned") {
    Case c = scaled_add(1);
    c.tensors[1] = case_tensor("other", {5, 33});
    const Status status = plan(c);
    REQUIRE_FALSE(status.ok());
    CHECK_THAT(status.message(), Catch::Contains("do not broadcast"));
}

}  // namespace diopi
