/// Memory of a thread for the packed operands of a product.
#pragma once

#include <cstdlib>
#include <memory>

namespace diopi::cpu {

/// kBytes of the calling thread, aligned to a cache line. All products with one kBytes use the same memory.
template <size_t kBytes>
void* packing_space() {
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    thread_local const std::unique_ptr<void, Free> memory(std::aligned_alloc(64, kBytes));
    return memory.get();
}

}  // namespace diopi::cpu
