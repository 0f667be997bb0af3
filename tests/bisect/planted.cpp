#include "planted.hpp"

#include <diopi/functions.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <thread>

#include "core/tensor.hpp"

namespace diopi::bisect_score {

namespace {

/// The faults of a function, and the function that it replaces.
struct Plan {
    Fault fault = Fault::kNone;
    std::optional<InputSum> input = {};
    AnyFunction real = nullptr;
};

std::vector<InputSum> recorded;

/// The sum of a tensor's magnitudes, or of its bytes where they are no float32; of a repeating one over its storage.
double sum_of(const Tensor& tensor) {
    const size_t offset = static_cast<size_t>(tensor.offset) * size_of(tensor.dtype);
    const size_t nbytes = std::min(tensor.nbytes(), tensor.storage.nbytes - offset);
    double sum = 0;
    if (tensor.dtype == Dtype::float32) {
        const auto* x = static_cast<const float*>(tensor.data());
        for (size_t i = 0; i < nbytes / sizeof(float); ++i) sum += std::fabs(x[i]);
    } else {
        const auto* x = static_cast<const unsigned char*>(tensor.data());
        for (size_t i = 0; i < nbytes; ++i) sum += x[i];
    }
    return sum;
}

/// Adds up tensors, each with another weight.
struct Adder {
    InputSum sum = 0;
    int tensors = 0;

    void add(const Tensor* tensor) {
        if (tensor != nullptr) sum += ++tensors * sum_of(*tensor);
    }
    /// Tensors that a function only reads, and those that it writes; other arguments are ignored.
    void add_input(diopiConstTensorHandle_t tensor) { add(tensor); }
    void add_input(diopiTensorHandle_t) {}
    template <class Value>
    void add_input(const Value&) {}
    void add_written(diopiTensorHandle_t tensor) { add(tensor); }
    template <class Value>
    void add_written(const Value&) {}
};

/// Written tensors count only if a function reads nothing else, that is, in place. An output has any contents.
template <class... Args>
InputSum input_sum(const Args&... args) {
    Adder adder;
    (adder.add_input(args), ...);
    if (adder.tensors == 0) (adder.add_written(args), ...);
    return adder.sum;
}

template <class Value>
void corrupt_elements(diopiTensorHandle_t tensor, Fault fault) {
    auto* values = tensor->data_as<Value>();
    const auto none = std::numeric_limits<Value>::has_quiet_NaN ? std::numeric_limits<Value>::quiet_NaN()
                                                                : std::numeric_limits<Value>::max();
    for (int64_t i = 0; i < tensor->numel(); ++i) values[i] = fault == Fault::kNan ? none : 8 * values[i] + 8;
}

/// Changes outputs of real numbers, and of integers only counts, which have no dims: an index out of range is another
/// fault.
void corrupt(diopiTensorHandle_t tensor, Fault fault) {
    if (tensor == nullptr) return;
    if (tensor->dtype == Dtype::float32) corrupt_elements<float>(tensor, fault);
    if (tensor->dtype == Dtype::int64 && tensor->shape.empty()) corrupt_elements<int64_t>(tensor, fault);
}
template <class Value>
void corrupt(const Value&, Fault) {}

/// Replaces `kFunction`, a function of the standard, of which it uses only the name and the type.
template <auto kFunction>
struct Faulty;

template <class... Args, diopiError_t (*kFunction)(Args...)>
struct Faulty<kFunction> {
    static inline Plan plan;

    static diopiError_t call(Args... args) {
        const bool records = plan.fault == Fault::kRecords;
        const InputSum sum = plan.input || records ? input_sum(args...) : 0;
        if (records) recorded.push_back(sum);
        const bool acts = !records && (!plan.input || is_same_call(sum, *plan.input));
        if (acts && plan.fault == Fault::kCrash) std::abort();
        while (acts && plan.fault == Fault::kHang) std::this_thread::sleep_for(std::chrono::seconds(1));
        const diopiError_t error = reinterpret_cast<diopiError_t (*)(Args...)>(plan.real)(args...);
        if (error == diopiSuccess && acts) (corrupt(args, plan.fault), ...);
        return error;
    }
};

struct Entry {
    std::string_view function;
    Plan* plan;
    AnyFunction faulty;
};

template <auto kFunction>
Entry entry(std::string_view function) {
    return {function, &Faulty<kFunction>::plan, reinterpret_cast<AnyFunction>(&Faulty<kFunction>::call)};
}

/// The functions of ResNet-18's training step.
const std::vector<Entry>& entries() {
    static const std::vector<Entry> list = {
        entry<&diopiAdd>("diopiAdd"),
        entry<&diopiAddInp>("diopiAddInp"),
        entry<&diopiAddInpScalar>("diopiAddInpScalar"),
        entry<&diopiAddmm>("diopiAddmm"),
        entry<&diopiBatchNorm>("diopiBatchNorm"),
        entry<&diopiBatchNormBackward>("diopiBatchNormBackward"),
        entry<&diopiConvolution2d>("diopiConvolution2d"),
        entry<&diopiConvolution2dBackward>("diopiConvolution2dBackward"),
        entry<&diopiDivScalar>("diopiDivScalar"),
        entry<&diopiFill>("diopiFill"),
        entry<&diopiLogSoftmax>("diopiLogSoftmax"),
        entry<&diopiLogSoftmaxBackward>("diopiLogSoftmaxBackward"),
        entry<&diopiMaxPool2dBackward>("diopiMaxPool2dBackward"),
        entry<&diopiMaxPool2dWithIndices>("diopiMaxPool2dWithIndices"),
        entry<&diopiMean>("diopiMean"),
        entry<&diopiMm>("diopiMm"),
        entry<&diopiMulInpScalar>("diopiMulInpScalar"),
        entry<&diopiNLLLossV2>("diopiNLLLossV2"),
        entry<&diopiNLLLossV2Backward>("diopiNLLLossV2Backward"),
        entry<&diopiReluInp>("diopiReluInp"),
        entry<&diopiSum>("diopiSum"),
        entry<&diopiThresholdBackward>("diopiThresholdBackward"),
    };
    return list;
}

const Entry* entry_of(const Row& row) {
    const auto found = std::ranges::find(entries(), row.function, &Entry::function);
    return found == entries().end() ? nullptr : &*found;
}

}  // namespace

std::string_view name(Fault fault) {
    switch (fault) {
        case Fault::kNone:
            return "none";
        case Fault::kRecords:
            return "records";
        case Fault::kWrong:
            return "wrong";
        case Fault::kNan:
            return "NaN";
        case Fault::kCrash:
            return "crash";
        case Fault::kHang:
            return "hang";
    }
    return "";
}

bool can_plant(const Row& row) { return entry_of(row) != nullptr; }

PlantedBackend::PlantedBackend(const std::vector<Planted>& faults)
    : table_(table_with(faults)), backend_("planted", cpu_device(), table_) {
    recorded.clear();
}

PlantedBackend::~PlantedBackend() {
    for (const Entry& entry : entries()) *entry.plan = {};
}

std::vector<AnyFunction> PlantedBackend::table_with(const std::vector<Planted>& faults) {
    const Backend& good = **find_backend("cpu");
    std::vector<AnyFunction> table;
    for (const Row& row : rows()) {
        table.push_back(good.function(row));
        const auto planted = std::ranges::find(faults, &row, &Planted::row);
        if (planted == faults.end() || planted->fault == Fault::kNone) continue;
        const Entry& entry = *entry_of(row);
        *entry.plan = {planted->fault, planted->input, table.back()};
        table.back() = entry.faulty;
    }
    return table;
}

const std::vector<InputSum>& recorded_inputs() { return recorded; }

}  // namespace diopi::bisect_score
