/// Each check of device information, errors, generators and the memory checker fails on a fault of its subject.
#include <cstring>
#include <mutex>

#include "runtime_suite/runtime_testing.hpp"

namespace diopi {

using testing::add_on_stream;
using testing::any;
using testing::draw_on_stream;
using testing::expect_failure;
using testing::run_check;
using testing::TestBackend;

namespace {

class WrongInfo : public AsyncDevice {
 public:
    explicit WrongInfo(Result<DeviceInfo> info) : info_(std::move(info)) {}
    Result<DeviceInfo> info() override { return info_; }

 private:
    Result<DeviceInfo> info_;
};

const DeviceInfo kSound = {"Chip 1", "Vendor", "x", 100, 50, 4};

diopiError_t fail_silently(diopiContextHandle_t, diopiTensorHandle_t*, const diopiSize_t*, const diopiSize_t*,
                           const diopiDtype_t, const diopiDevice_t) {
    set_last_error({});
    return diopiErrorOccurred;
}

diopiError_t succeed_always(diopiContextHandle_t, diopiTensorHandle_t*, const diopiSize_t*, const diopiSize_t*,
                            const diopiDtype_t, const diopiDevice_t) {
    return diopiSuccess;
}

/// Returns the first failure's text in all threads.
diopiError_t fail_with_shared_text(diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, const diopiSize_t* size,
                                   const diopiSize_t* stride, const diopiDtype_t dtype, const diopiDevice_t device) {
    const diopiError_t error = diopiRequireTensor(ctx, tensor, size, stride, dtype, device);
    static const std::string first = last_error();
    set_last_error(first);
    return error;
}

diopiError_t add_with_stale_error(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t,
                                  diopiConstTensorHandle_t, const diopiScalar_t*) {
    set_last_error("an old story");
    return diopiSuccess;
}

/// A sum on a device that knows only its own streams.
diopiError_t add_on_own_stream(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                               diopiConstTensorHandle_t other, const diopiScalar_t* alpha) {
    return ctx->stream != nullptr ? add_on_stream(ctx, out, input, other, alpha) : diopiErrorOccurred;
}

diopiError_t draw_on_own_stream(diopiContextHandle_t ctx, diopiTensorHandle_t inout, double mean, double std,
                                diopiGeneratorHandle_t generator) {
    return ctx->stream != nullptr ? draw_on_stream(ctx, inout, mean, std, generator) : diopiErrorOccurred;
}

// Generators that lose part of their state.
diopiError_t narrow_seed(diopiGeneratorHandle_t th, uint64_t seed, uint64_t offset) {
    *th = {static_cast<uint32_t>(seed), offset};
    return diopiSuccess;
}
diopiError_t narrow_offset(diopiGeneratorHandle_t th, uint64_t* seed, uint64_t* offset) {
    *seed = th->seed;
    *offset = static_cast<uint32_t>(th->offset);
    return diopiSuccess;
}
diopiError_t state_without_offset(diopiGeneratorHandle_t th, diopiConstTensorHandle_t state) {
    const diopiError_t error = diopiGeneratorSetState(th, state);
    th->offset = 0;
    return error;
}
diopiError_t state_is_ignored(diopiGeneratorHandle_t, diopiConstTensorHandle_t) { return diopiSuccess; }
diopiError_t state_of_any_size(diopiGeneratorHandle_t th, diopiConstTensorHandle_t state) {
    if (state->nbytes() == 16) return diopiGeneratorSetState(th, state);
    return diopiSuccess;
}
diopiError_t state_of_any_size_is_used(diopiGeneratorHandle_t th, diopiConstTensorHandle_t state) {
    const diopiError_t error = diopiGeneratorSetState(th, state);
    if (error != diopiSuccess) th->seed = 5;
    return error;
}
diopiError_t state_without_seed(diopiContextHandle_t ctx, diopiConstGeneratorHandle_t th, diopiTensorHandle_t* data) {
    const diopiError_t error = diopiGeneratorGetState(ctx, th, data);
    std::memset((*data)->data(), 0, 8);
    return error;
}

struct PlantedGeneratorFault {
    void (*plant)(RuntimeFunctions&);
    const char* words;
};
const PlantedGeneratorFault kFaults[] = {
    {[](RuntimeFunctions& f) { f.generator_set_seed_and_offset = narrow_seed; }, "after they were set, the generator"},
    {[](RuntimeFunctions& f) { f.generator_get_seed_and_offset = narrow_offset; }, "and offset 0 where"},
    {[](RuntimeFunctions& f) { f.generator_set_state = state_without_offset; }, "after its state was set,"},
    {[](RuntimeFunctions& f) { f.generator_set_state = state_is_ignored; }, "after its state was set,"},
    {[](RuntimeFunctions& f) { f.generator_set_state = state_of_any_size; }, "a tensor of 3 bytes for a state"},
    {[](RuntimeFunctions& f) { f.generator_set_state = state_of_any_size_is_used; }, "a wrong state was refused"},
    {[](RuntimeFunctions& f) { f.generator_get_state = state_without_seed; }, "has seed 0 and"},
};

template <bool kAdvances, bool kHeedsOffset, bool kHasOwnState>
diopiError_t wrong_draw(diopiContextHandle_t, diopiTensorHandle_t inout, double, double,
                        diopiGeneratorHandle_t generator) {
    static float drawn = 0;
    if (kHasOwnState) ++drawn;
    const uint64_t first = generator->seed + (kHeedsOffset ? generator->offset : 0);
    for (int64_t i = 0; i < inout->numel(); ++i) {
        inout->data_as<float>()[i] = static_cast<float>((first + static_cast<uint64_t>(i)) % 997) + drawn;
    }
    if (kAdvances) generator->offset += 1000;
    return diopiSuccess;
}

class NeverForgets : public MemoryChecker {
 public:
    using MemoryChecker::MemoryChecker;
    Result<std::shared_ptr<void>> allocate(size_t nbytes) override {
        auto memory = MemoryChecker::allocate(nbytes);
        if (memory.ok()) held_.push_back(*memory);
        return memory;
    }

 private:
    std::vector<std::shared_ptr<void>> held_;
};

class ForgetsOnlyClean : public NeverForgets {
 public:
    using NeverForgets::NeverForgets;
    Result<std::shared_ptr<void>> allocate(size_t nbytes) override {
        return nbytes == 1000 ? MemoryChecker::allocate(nbytes) : NeverForgets::allocate(nbytes);
    }
};

class SeesNothing : public MemoryChecker {
 public:
    using MemoryChecker::MemoryChecker;
    Result<std::shared_ptr<void>> allocate(size_t nbytes) override { return cpu_device().allocate(nbytes); }
};

class Rounds : public MemoryChecker {
 public:
    using MemoryChecker::MemoryChecker;
    Result<std::shared_ptr<void>> allocate(size_t nbytes) override {
        return MemoryChecker::allocate((nbytes + 63) / 64 * 64);
    }
};

class WithoutBacktrace : public MemoryChecker {
 public:
    WithoutBacktrace(Device& device, bool) : MemoryChecker(device, false) {}
};

template <class Broken>
RuntimeSubject with_checker() {
    static const TestBackend backend;
    RuntimeSubject subject = backend.subject();
    subject.memory_checker = [](Device& device) { return std::make_unique<Broken>(device, true); };
    return subject;
}

}  // namespace

TEST_CASE("device_info finds missing and contradictory answers") {
    const auto expect = [](auto change, const char* words) {
        DeviceInfo info = kSound;
        change(info);
        WrongInfo device(info);
        expect_failure("device_info", TestBackend(device).subject(), words);
    };
    expect([](DeviceInfo& i) { i = {}; }, "no name");
    expect([](DeviceInfo& i) { i.architecture.clear(); }, "architecture");
    expect([](DeviceInfo& i) { i.compute_units = 0; }, "0 compute units");
    expect([](DeviceInfo& i) { i.total_bytes = 0; }, "of 0 bytes of memory 50 are free");
    expect([](DeviceInfo& i) { i.free_bytes = 101; }, "of 100 bytes of memory 101 are free");
    expect([](DeviceInfo& i) { i.free_bytes = -1; }, "-1 are free");
    WrongInfo broken(failed("the driver does not answer"));
    expect_failure("device_info", TestBackend(broken).subject(), "the driver does not answer");
}

TEST_CASE("device_info reports the device's answers") {
    WrongInfo device(kSound);
    CHECK_THAT(testing::run_check("device_info", TestBackend(device).subject()).reason,
               Catch::StartsWith("Chip 1, Vendor, x, 4 compute units, 0.0 GiB of memory"));
}

TEST_CASE("last_error finds a failure without a message, one that is none, and one with another thread's message") {
    const TestBackend backend;
    RuntimeSubject subject = backend.subject();
    subject.functions.require_tensor = fail_silently;
    expect_failure("last_error", subject, "the last error of its thread is ''");
    subject.functions.require_tensor = succeed_always;
    expect_failure("last_error", subject, "succeeds for the shape");
    subject.functions.require_tensor = fail_with_shared_text;
    expect_failure("last_error", subject, "in another thread: ");
}

TEST_CASE("last_error finds a message that a success does not clear") {
    TestBackend backend;
    backend.replace("diopiAdd", any(add_with_stale_error));
    expect_failure("last_error", backend.subject(), "still 'an old story'");
}

TEST_CASE("operators get a stream of the device") {
    AsyncDevice device;
    TestBackend backend(device);
    backend.replace("diopiAdd", any(add_on_own_stream)).replace("diopiNormalInp", any(draw_on_own_stream));
    for (const char* name : {"last_error", "generator_state"}) {
        const CaseResult result = run_check(name, backend.subject());
        INFO(result.reason);
        CHECK(result.verdict == Verdict::kPassed);
    }
}

TEST_CASE("generator_state finds a runtime that loses a part of the state") {
    const TestBackend backend;
    for (const PlantedGeneratorFault& fault : kFaults) {
        RuntimeSubject subject = backend.subject();
        fault.plant(subject.functions);
        expect_failure("generator_state", subject, fault.words);
    }
}

TEST_CASE("generator_state finds an operator that ignores or does not advance the generator") {
    const auto expect = [](AnyFunction draw, const char* words) {
        TestBackend backend;
        backend.replace("diopiNormalInp", draw);
        expect_failure("generator_state", backend.subject(), words);
    };
    expect(any(wrong_draw<false, true, false>), "does not advance the generator");
    expect(any(wrong_draw<true, false, false>), "draws the same from an advanced state");
    expect(any(wrong_draw<true, true, true>), "draws others from an equal state");
}

TEST_CASE("memory_checker finds a checker that reports too much, too little, the wrong size or no function") {
    expect_failure("memory_checker", with_checker<NeverForgets>(), "that was freed is reported as live");
    expect_failure("memory_checker", with_checker<ForgetsOnlyClean>(), "reported after it was freed");
    expect_failure("memory_checker", with_checker<SeesNothing>(), "the checker says ''");
    expect_failure("memory_checker", with_checker<Rounds>(), "leaked 1 block, 12352 bytes");
    expect_failure("memory_checker", with_checker<WithoutBacktrace>(), "does not name the function");
}

}  // namespace diopi
