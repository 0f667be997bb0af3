/// How many threads a kernel is launched with.
#pragma once

#include <algorithm>
#include <cstdint>

namespace diopi::cuda {

struct Launch {
    unsigned blocks = 1;
    unsigned threads = 1;
};

/// Chosen by reading, not measured: no GPU was available.
constexpr unsigned kThreads = 256;
/// A kernel loops where there is more: 2^16 blocks fill any device many times over.
constexpr int64_t kMostBlocks = 65536;

/// For `items` > 0 of which a thread takes `per_thread` at a time and goes on by the whole launch until none is left.
[[nodiscard]] constexpr Launch launch_for(int64_t items, int per_thread) {
    const int64_t threads = items / per_thread + (items % per_thread != 0 ? 1 : 0);
    const int64_t blocks = threads / kThreads + (threads % kThreads != 0 ? 1 : 0);
    return {static_cast<unsigned>(std::min(blocks, kMostBlocks)), kThreads};
}

}  // namespace diopi::cuda
