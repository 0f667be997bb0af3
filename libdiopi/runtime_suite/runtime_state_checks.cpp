/// Checks of device information, errors, generators and the memory checker.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "runtime/generator.hpp"
#include "runtime_suite/runtime_checks.hpp"

namespace diopi {

/// Allocates memory that its caller keeps; the memory checker must name it. It is in no anonymous namespace, so that it
/// is exported like the program's other symbols.
[[gnu::noinline]] Result<std::shared_ptr<void>> planted_leak(Device& device, size_t nbytes) {
    auto memory = device.allocate(nbytes);
    // Work after the call keeps this frame on the stack while the call runs.
    if (!memory.ok()) set_last_error(memory.error().message);
    return memory;
}

namespace runtime_check {

namespace {

constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;
/// With 4 elements each, more than can be counted: refused before memory is requested.
constexpr int64_t kTooManyElements = int64_t{1} << 62;

/// Makes a runtime call that fails, with `size` in its text. An error means that the failure was wrong.
Status provoke(const RuntimeSubject& subject, int64_t size) {
    Context context(subject.backend->device());
    const int64_t sizes[] = {size, 4};
    const diopiSize_t shape{sizes, 2};
    diopiTensorHandle_t tensor = nullptr;
    const diopiError_t error =
        subject.functions.require_tensor(&context, &tensor, &shape, nullptr, diopi_dtype_float64, diopi_host);
    if (error == diopiSuccess) return failed(fmt::format("diopiRequireTensor succeeds for the shape ({}, 4)", size));
    const std::string& text = diopi::last_error();
    if (text.find(std::to_string(size)) == std::string::npos) {
        return failed(
            fmt::format("diopiRequireTensor fails for the shape ({}, 4), and the last error of its thread "
                        "is '{}'",
                        size, text));
    }
    const std::string backend_text = subject.backend->error_text(error);
    if (backend_text.find(text) != std::string::npos && backend_text.find(name(error)) != std::string::npos) return {};
    return failed("the backend's error text '" + backend_text + "' lacks the code's name or the last error '" + text +
                  "'");
}

/// A stream for an operator: a device may know only the streams that it made.
class OwnStream {
 public:
    explicit OwnStream(Device& device) : device_(&device), stream_(device.create_stream()) {}
    ~OwnStream() {
        if (stream_.ok()) (void)device_->destroy_stream(*stream_);
    }
    OwnStream(const OwnStream&) = delete;
    OwnStream& operator=(const OwnStream&) = delete;
    [[nodiscard]] const Result<diopiStreamHandle_t>& handle() const { return stream_; }

 private:
    Device* device_;
    Result<diopiStreamHandle_t> stream_;
};

/// Runs an operator that must succeed: a sum of one element.
Outcome succeed(const Backend& backend) {
    const OwnStream stream(backend.device());
    if (!stream.handle().ok()) return {diopiErrorOccurred, stream.handle().error().message};
    Context context(backend.device(), *stream.handle());
    Call call(*find_row("diopiAdd"));
    for (const char* arg : {"out", "input", "other"}) {
        auto host = make_tensor(cpu_device(), {{1}, Dtype::float32, {}});
        if (!host.ok()) return {diopiErrorOccurred, host.error().message};
        (*host)->data_as<float>()[0] = 1;
        auto there = to_device(backend.device(), context.stream, **host);
        if (!there.ok()) return {diopiErrorOccurred, there.error().message};
        call[arg] = *there;
    }
    call["alpha"] = Scalar::of(int64_t{1});
    Outcome outcome = Chain(backend).run(call, context);
    if (Status s = backend.device().synchronize(context.stream); !s.ok()) return {diopiErrorOccurred, s.message()};
    return outcome;
}

/// A random operator in place with two parameters of its distribution.
struct RandomOperator {
    const char* function;
    const char* first;
    const char* second;
};
constexpr RandomOperator kRandomOperators[] = {{"diopiNormalInp", "mean", "std"}, {"diopiUniformInp", "from", "to"}};
constexpr int64_t kDrawn = 1000;

const RandomOperator* random_operator_of(const Backend& backend) {
    const auto* found = std::ranges::find_if(kRandomOperators, [&](const RandomOperator& op) {
        const Row* row = find_row(op.function);
        return row != nullptr && backend.implements(*row);
    });
    return found == std::end(kRandomOperators) ? nullptr : found;
}

Result<std::vector<float>> draw(const Backend& backend, const RandomOperator& op, Generator& generator) {
    const OwnStream stream(backend.device());
    if (!stream.handle().ok()) return stream.handle().error();
    Context context(backend.device(), *stream.handle());
    auto host = make_tensor(cpu_device(), {{kDrawn}, Dtype::float32, {}});
    if (!host.ok()) return host.error();
    std::fill_n((*host)->data_as<float>(), kDrawn, 0.0f);
    auto numbers = to_device(backend.device(), context.stream, **host);
    if (!numbers.ok()) return numbers.error();
    Call call(*find_row(op.function));
    call["inout"] = *numbers;
    call[op.first] = 0.0;
    call[op.second] = 1.0;
    call["generator"] = &generator;
    const Outcome outcome = Chain(backend).run(call, context);
    if (!outcome.ok()) return failed(std::string(op.function) + " failed: " + outcome.message);
    auto drawn = to_host(backend.device(), context.stream, **numbers);
    if (!drawn.ok()) return drawn.error();
    const auto* values = (*drawn)->data_as<float>();
    return std::vector<float>(values, values + kDrawn);
}

Status expect_state(const RuntimeFunctions& f, Generator& generator, uint64_t seed, uint64_t offset, const char* when) {
    uint64_t got_seed = 0;
    uint64_t got_offset = 0;
    if (f.generator_get_seed_and_offset(&generator, &got_seed, &got_offset) != diopiSuccess) {
        return failed("diopiGeneratorGetSeedAndOffset failed: " + diopi::last_error());
    }
    if (got_seed == seed && got_offset == offset) return {};
    return failed(fmt::format("{} the generator has seed {} and offset {} where {} and {} are wanted", when, got_seed,
                              got_offset, seed, offset));
}

/// Copies seed, offset and state from one generator to another. On success both are in the same state.
Status check_round_trip(const RuntimeFunctions& f, Context& context, Generator& first, Generator& second) {
    constexpr uint64_t kSeed = 0xfedcba9876543210;
    constexpr uint64_t kOffset = uint64_t{1} << 40;
    if (f.generator_set_seed_and_offset(&first, kSeed, kOffset) != diopiSuccess) {
        return failed("diopiGeneratorSetSeedAndOffset failed: " + diopi::last_error());
    }
    if (Status s = expect_state(f, first, kSeed, kOffset, "after they were set,"); !s.ok()) return s;
    diopiTensorHandle_t state = nullptr;
    if (f.generator_get_state(&context, &first, &state) != diopiSuccess) {
        return failed("diopiGeneratorGetState failed: " + diopi::last_error());
    }
    if (f.generator_set_seed_and_offset(&first, 1, 2) != diopiSuccess) return failed("a second setting failed");
    for (Generator* generator : {&first, &second}) {
        if (f.generator_set_state(generator, state) != diopiSuccess) {
            return failed("diopiGeneratorSetState failed: " + diopi::last_error());
        }
        if (Status s = expect_state(f, *generator, kSeed, kOffset, "after its state was set,"); !s.ok()) return s;
    }
    const int64_t three = 3;
    const diopiSize_t shape{&three, 1};
    diopiTensorHandle_t wrong = nullptr;
    if (f.require_tensor(&context, &wrong, &shape, nullptr, diopi_dtype_uint8, diopi_host) != diopiSuccess ||
        f.generator_set_state(&second, wrong) == diopiSuccess) {
        return failed("diopiGeneratorSetState takes a tensor of 3 bytes for a state");
    }
    return expect_state(f, second, kSeed, kOffset, "after a wrong state was refused,");
}

/// Equal states must draw equal numbers, and the state must advance.
Status check_draws(const RuntimeSubject& subject, const RandomOperator& op, Generator& first, Generator& second) {
    const Generator before = first;
    const auto drawn = draw(*subject.backend, op, first);
    const auto again = draw(*subject.backend, op, second);
    const auto next = draw(*subject.backend, op, first);
    for (const auto* one : {&drawn, &again, &next}) {
        if (!one->ok()) return one->error();
    }
    if (*drawn != *again) return failed(fmt::format("{} draws others from an equal state", op.function));
    if (second.seed == before.seed && second.offset == before.offset) {
        return failed(fmt::format("{} does not advance the generator", op.function));
    }
    if (*drawn == *next) return failed(fmt::format("{} draws the same from an advanced state", op.function));
    return {};
}

}  // namespace

Findings device_info(const RuntimeSubject& subject) {
    const auto info = subject.backend->device().info();
    if (!info.ok()) return info.error();
    if (info->name.empty()) return failed("the device has no name");
    if (info->architecture.empty()) return failed("the device does not say its architecture");
    if (info->compute_units < 1) return failed(fmt::format("it has {} compute units", info->compute_units));
    if (info->total_bytes <= 0 || info->free_bytes < 0 || info->free_bytes > info->total_bytes) {
        return failed(fmt::format("of {} bytes of memory {} are free", info->total_bytes, info->free_bytes));
    }
    const auto gibibytes = [](int64_t bytes) { return static_cast<double>(bytes) / kGibibyte; };
    return fmt::format("{}{}{}, {}, {} compute unit{}, {:.1f} GiB of memory, {:.1f} GiB free", info->name,
                       info->vendor.empty() ? "" : ", ", info->vendor, info->architecture, info->compute_units,
                       info->compute_units == 1 ? "" : "s", gibibytes(info->total_bytes), gibibytes(info->free_bytes));
}

Findings last_error(const RuntimeSubject& subject) {
    const Row* row = find_row("diopiAdd");
    if (row == nullptr || !subject.backend->implements(*row)) {
        return not_implemented(std::string(subject.backend->name()) +
                               " has no diopiAdd, whose success clears an error");
    }
    if (Status s = provoke(subject, kTooManyElements); !s.ok()) return s.error();
    const std::string ours = diopi::last_error();
    Status theirs;
    std::thread([&] { theirs = provoke(subject, kTooManyElements + 1); }).join();
    if (!theirs.ok()) return failed("in another thread: " + theirs.message());
    if (diopi::last_error() != ours) return failed("another thread's error replaced this one's");
    const Outcome outcome = succeed(*subject.backend);
    if (!outcome.ok()) return failed("diopiAdd failed: " + outcome.message);
    if (!diopi::last_error().empty()) {
        return failed("after a successful call the last error is still '" + diopi::last_error() + "'");
    }
    return "a failure's text is available, only in its own thread, and the next success clears it: " + ours;
}

Findings generator_state(const RuntimeSubject& subject) {
    Context context(subject.backend->device());
    Generator first, second;
    if (Status s = check_round_trip(subject.functions, context, first, second); !s.ok()) return s.error();
    const RandomOperator* op = random_operator_of(*subject.backend);
    if (op == nullptr) return std::string("seed, offset and state are read back; the backend has no random operator");
    if (Status s = check_draws(subject, *op, first, second); !s.ok()) return s.error();
    return fmt::format("seed, offset and state are read back; {} draws by the state and advances it", op->function);
}

Findings memory_checker(const RuntimeSubject& subject) {
    constexpr size_t kLeaked = 12345;
    const std::unique_ptr<MemoryChecker> checker = subject.memory_checker(subject.backend->device());
    const auto clean = [&] { return checker->allocate(1000).status(); };
    if (Status s = clean(); !s.ok()) return s.error();
    if (!checker->live().empty()) return failed("a block that was freed is reported as live");
    auto leak = planted_leak(*checker, kLeaked);
    if (!leak.ok()) return leak.error();
    if (Status s = clean(); !s.ok()) return s.error();
    const std::string report = checker->leak_report(10);
    if (checker->live().size() != 1 || report.find(fmt::format("leaked 1 block, {} bytes", kLeaked)) == report.npos) {
        return failed(fmt::format("for one held block of {} bytes the checker says '{}'", kLeaked, report));
    }
    if (report.find("planted_leak") == std::string::npos) {
        return failed("the backtrace does not name the function that asked for the block: " + report);
    }
    leak->reset();
    if (!checker->live().empty()) return failed("the block is reported after it was freed");
    return fmt::format("a planted leak of {} bytes is found and its function named; freed blocks are not reported",
                       kLeaked);
}

}  // namespace runtime_check

}  // namespace diopi
