/// The number of threads of a kernel launch.
#pragma once

#include <algorithm>
#include <cstdint>

namespace diopi::cuda {

struct Launch {
    unsigned blocks = 1;
    unsigned threads = 1;
};

/// An estimate; with it element-wise calls of 256 MiB reach a copy's bandwidth on an H100 (docs/performance.md).
constexpr unsigned kThreads = 256;
/// A kernel loops over more items: 2^16 blocks are many more than a device runs at once.
constexpr int64_t kMostBlocks = 65536;

/// The launch for `items` > 0: a thread takes `per_thread` at a time and advances by the size of the launch.
[[nodiscard]] constexpr Launch launch_for(int64_t items, int per_thread) {
    const int64_t threads = items / per_thread + (items % per_thread != 0 ? 1 : 0);
    const int64_t blocks = threads / kThreads + (threads % kThreads != 0 ? 1 : 0);
    return {static_cast<unsigned>(std::min(blocks, kMostBlocks)), kThreads};
}

}  // namespace diopi::cuda
