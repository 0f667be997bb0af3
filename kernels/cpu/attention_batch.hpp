/// Attention of a batch of sequences in threads, each of which has some sequences, heads and queries of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "kernels/cpu/attention_rows.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/threads.hpp"

namespace diopi::cpu {

/// The numbers of an index tensor.
[[nodiscard]] inline diopiError_t read_numbers(diopiContextHandle_t ctx, const View& tensor,
                                               std::span<const int64_t>& numbers) {
    View dense;
    const diopiError_t error = contiguous_as(ctx, tensor, Dtype::int64, dense);
    if (error == diopiSuccess) numbers = {dense.as<int64_t>(), static_cast<size_t>(dense.numel)};
    return error;
}

/// What the sequences of a batch share.
template <class E>
AttendedRows<E> attended(const operands::Heads& heads) {
    AttendedRows<E> all;
    all.heads = all.head_count = heads.keys;
    all.group = heads.group();
    all.dim = heads.dim;
    all.scale = static_cast<typename AttendedRows<E>::T>(1 / std::sqrt(static_cast<double>(heads.dim)));
    return all;
}

/// Calls run(part) for parts of a sequence: the items from `first` on, at most `most`, where an item is a head with
/// `tile` of its queries. Returns the number of items that were run.
template <class E, class Run>
int64_t run_part(const AttendedRows<E>& sequence, int64_t tile, int64_t first, int64_t most, const Run& run) {
    const int64_t tiles = (sequence.queries + tile - 1) / tile;
    AttendedRows<E> part = sequence;
    part.first_head = first / tiles;
    part.first_query = first % tiles * tile;
    part.queries = std::min(tile, sequence.queries - part.first_query);
    // Heads lie side by side in memory.
    const int64_t together = kAttendedRows / std::max<int64_t>(part.queries * part.group, 1);
    part.head_count = tiles == 1 ? std::clamp<int64_t>(together, 1, most) : 1;
    run(part);
    return part.head_count;
}

/// Runs a kernel on all sequences, which have q, k, v and heads of one tensor each; head_count is that of all heads.
template <class E, class Kernel>
void run_sequences(Staging& staging, std::span<const AttendedRows<E>> sequences, Kernel kernel) {
    using T = typename AttendedRows<E>::T;
    if (sequences.empty()) return;
    const AttendedRows<E>& any = sequences.front();
    const int64_t tile = std::max<int64_t>(kAttendedRows / 2 / any.group, 1);
    std::vector<int64_t> ends;  // of the sequences' items
    int64_t items = 0, pairs = 0;
    for (const AttendedRows<E>& each : sequences) {
        items += each.heads * ((each.queries + tile - 1) / tile);
        pairs += each.queries * each.keys.count;
        ends.push_back(items);
    }
    if (items == 0) return;
    const int64_t work = 2 * pairs * any.heads * any.group * any.dim / items;
    const int64_t parts = threads_for(items, work, Loop::sum);
    const int64_t rows = std::max(kAttendedRows, tile * any.group);
    const int64_t size = attention_kernels<E>().workspace(rows, any.dim);
    T* workspace = staging.buffer<T>(parts * size);
    if (staging.error() != diopiSuccess) return;
    parallel_for(parts, items / parts * work, Loop::sum, [&](int64_t first_part, int64_t last_part) {
        for (int64_t p = first_part; p < last_part; ++p) {
            int64_t item = items * p / parts;
            const int64_t end = items * (p + 1) / parts;
            auto s = static_cast<size_t>(std::ranges::upper_bound(ends, item) - ends.begin());
            while (item < end) {
                while (ends[s] <= item) ++s;
                const int64_t first = s == 0 ? 0 : ends[s - 1];
                item += run_part(sequences[s], tile, item - first, std::min(end, ends[s]) - item,
                                 [&](const AttendedRows<E>& part) { kernel(part, workspace + p * size); });
            }
        }
    });
}

}  // namespace diopi::cpu
