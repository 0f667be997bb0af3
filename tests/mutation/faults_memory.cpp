/// Faults that write to the wrong place, and memory leaks.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "core/strided.hpp"
#include "fault.hpp"

namespace diopi::mutation {

namespace {

constexpr size_t kStray = 4;
constexpr size_t kKept = 64;

void flip(std::byte* at, size_t count) {
    for (size_t i = 0; i < count; ++i) at[i] ^= std::byte{0xff};
}

void flip_past_end(Scene& scene, const TensorPtr& tensor) {
    flip(static_cast<std::byte*>(tensor->storage.memory.get()) + tensor->storage.nbytes, kStray);
    scene.act();
}

void write_past_end(Scene& scene) {
    if (const auto* result = scene.first()) flip_past_end(scene, result->tensor);
}

void write_before_start(Scene& scene) {
    const auto* result = scene.first();
    if (result == nullptr) return;
    flip(static_cast<std::byte*>(result->tensor->storage.memory.get()) - kStray, kStray);
    scene.act();
}

void write_past_input(Scene& scene) {
    const auto inputs = scene.inputs();
    if (!inputs.empty()) flip_past_end(scene, inputs.back());
}

void input_modified(Scene& scene) {
    const auto inputs = scene.inputs();
    if (inputs.empty()) return;
    alter(*inputs.front(), inputs.front()->numel() - 1);
    scene.act();
}

void last_input_modified(Scene& scene) {
    const auto inputs = scene.inputs();
    if (inputs.size() < 2) return;
    alter(*inputs.back(), 0);
    scene.act();
}

/// Writes to the first place between the elements of an output, or of a tensor that is changed in place.
void write_gap(Scene& scene, bool in_place) {
    for (const Scene::Result& result : scene.results()) {
        const Tensor& tensor = *result.tensor;
        if (result.is_inout != in_place || tensor.storage.nbytes == tensor.nbytes()) continue;
        constexpr size_t kFirstPlaces = 4096;
        std::vector<bool> taken(kFirstPlaces, false);
        for_each_offset(tensor.shape, tensor.strides, [&](int64_t offset) {
            const auto place = static_cast<size_t>(offset + tensor.offset);
            if (place < kFirstPlaces) taken[place] = true;
        });
        const size_t size = size_of(tensor.dtype);
        for (size_t place = 0; place < std::min(kFirstPlaces, tensor.storage.nbytes / size); ++place) {
            if (taken[place]) continue;
            flip(static_cast<std::byte*>(tensor.storage.memory.get()) + place * size, 1);
            return scene.act();
        }
    }
}

void gap_written(Scene& scene) { write_gap(scene, false); }
void inout_gap_written(Scene& scene) { write_gap(scene, true); }

/// A vector load that reads on behind the last input, and multiplies what it does not need by 0.
void reads_behind(Scene& scene) {
    const auto inputs = scene.inputs();
    const auto* result = scene.first();
    const bool is_float = !inputs.empty() && inputs.back()->dtype == Dtype::float32;
    if (!is_float || result == nullptr || !is_floating(result->tensor->dtype)) return;
    float behind = 0;
    const auto* end =
        static_cast<const std::byte*>(inputs.back()->storage.memory.get()) + inputs.back()->storage.nbytes;
    std::memcpy(&behind, end, sizeof behind);
    std::vector<double> values = values_of(*result->right);
    if (values.empty()) return;
    values.back() += static_cast<double>(0 * behind);
    put_values(values, *result->tensor);
}

/// Rows are stored in whole vectors: zeros behind each row but the last.
void vector_gap_written(Scene& scene) {
    constexpr int64_t kVector = 4, kFar = 64;
    for (const Scene::Result& result : scene.results()) {
        const Tensor& tensor = *result.tensor;
        if (tensor.rank() < 2 || tensor.strides.back() != 1) continue;
        const size_t dims = tensor.shape.size();
        const int64_t columns = tensor.shape.back(), rows = tensor.shape[dims - 2], pitch = tensor.strides[dims - 2];
        const int64_t stored = (columns + kVector - 1) / kVector * kVector;
        // Rows that are far apart are single ones.
        if (pitch < stored || pitch > kFar * stored || stored == columns) continue;
        for (int64_t row = 0; row < tensor.numel() / columns; ++row) {
            if (row % rows == rows - 1) continue;
            const size_t size = size_of(tensor.dtype);
            std::memset(element(tensor, row * columns + columns - 1) + size, 0,
                        size * static_cast<size_t>(stored - columns));
            scene.act();
        }
    }
}

/// Keeps the results of an address of the first input, whatever its values are later.
void stale_results(Scene& scene) {
    const auto inputs = scene.inputs();
    const auto* result = scene.first();
    if (inputs.empty() || result == nullptr) return;
    static std::map<const void*, TensorPtr> kept;
    TensorPtr& former = kept[inputs.front()->storage.memory.get()];
    const bool fits =
        former != nullptr && former->shape == result->right->shape && former->dtype == result->right->dtype;
    if (fits) {
        put(*former, *result->tensor);
    } else {
        former = result->right;
    }
}

/// Results that are right the second time are the same.
bool is_repeatable(const Row& row) { return has_right_values(row) && row.repeat == Repeat::repeatable; }

/// A plan that is found again by the shapes and dtypes alone: it has the numbers and options of the call that made it.
void options_kept(Scene& scene) {
    std::vector<int64_t> key = {static_cast<int64_t>(scene.call().row->index())};
    for (const TensorPtr& tensor : scene.tensors()) {
        key.push_back(static_cast<int64_t>(tensor->dtype));
        key.push_back(static_cast<int64_t>(tensor->rank()));
        key.insert(key.end(), tensor->shape.begin(), tensor->shape.end());
    }
    static std::map<std::vector<int64_t>, std::vector<Value>> plans;
    Call changed = scene.call();
    std::vector<Value> options(changed.args.size());
    for (size_t i = 0; i < options.size(); ++i) {
        if (changed.row->args()[i].is_option()) options[i] = changed.args[i];
    }
    const std::vector<Value>& kept = plans.emplace(std::move(key), std::move(options)).first->second;
    for (size_t i = 0; i < kept.size(); ++i) {
        if (changed.row->args()[i].is_option()) changed.args[i] = kept[i];
    }
    scene.run_instead(std::move(changed));
}
bool has_options(const Row& row) {
    return is_repeatable(row) && std::ranges::any_of(row.args(), [](const Arg& arg) { return arg.is_option(); });
}

/// Leaked blocks are linked, so that a leak checker still finds them.
void leak(Scene& scene) {
    static void* chain = nullptr;
    void** block = static_cast<void**>(std::malloc(kKept));
    if (block == nullptr) return;
    *block = chain;
    chain = block;
    scene.act();
}

constexpr Fault kMemoryFaults[] = {
    {"ME", "write_past_end", "writes 4 bytes after a result", write_past_end},
    {"MB", "write_before_start", "writes 4 bytes before a result", write_before_start},
    {"MI", "write_past_input", "writes 4 bytes after the last input", write_past_input},
    {"MF", "input_modified", "changes the last element of the first input", input_modified},
    {"ML", "last_input_modified", "changes the first element of the last input", last_input_modified},
    {"MG", "gap_written", "writes between the elements of a strided output", gap_written, has_outputs},
    {"MP", "inout_gap_written", "writes between the elements of a strided tensor that it changes in place",
     inout_gap_written, has_inouts},
    {"MR", "reads_behind", "adds 0 times the number behind the last input to the last element", reads_behind,
     has_right_values},
    {"MS", "stale_results", "keeps the first results of an address", stale_results, is_repeatable, Ending::kReturns,
     Acting::later},
    {"MO", "options_kept", "keeps the numbers and options of the first call with the same shapes and dtypes",
     options_kept, has_options, Ending::kReturns, Acting::later},
    {"MV", "vector_gap_written", "stores the rows of a strided output in whole vectors", vector_gap_written,
     has_outputs},
    {"MK", "leak", "leaks 64 bytes at each call", leak},
};

}  // namespace

std::span<const Fault> memory_faults() { return kMemoryFaults; }

}  // namespace diopi::mutation
