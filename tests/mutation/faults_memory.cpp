/// Faults that write to the wrong place, and memory leaks.
#include <algorithm>
#include <cstdlib>
#include <cstring>
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

/// Writes to the first place between the elements of a result.
void gap_written(Scene& scene) {
    for (const Scene::Result& result : scene.results()) {
        const Tensor& tensor = *result.tensor;
        if (result.is_inout || tensor.storage.nbytes == tensor.nbytes()) continue;
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
    {"MK", "leak", "leaks 64 bytes at each call", leak},
};

}  // namespace

std::span<const Fault> memory_faults() { return kMemoryFaults; }

}  // namespace diopi::mutation
