#include "kernels/cpu/positions.hpp"

#include <algorithm>
#include <atomic>
#include <string>

#include "core/instruction_sets.hpp"
#include "kernels/cpu/threads.hpp"

namespace diopi::cpu {

namespace {

/// Its sign bit is set where one of n numbers is below 0 or above `last`: only what all vector units have.
uint64_t outside(const int64_t* numbers, int64_t n, uint64_t last) {
    uint64_t signs = 0;
    for (int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<uint64_t>(numbers[i]);
        signs |= at | (last - at);
    }
    return signs;
}

/// are_places() in threads.
bool all_within(Positions numbers, int64_t size) {
    std::atomic<bool> sound = true;
    parallel_for(std::ssize(numbers), 1, Loop::arithmetic, [&](int64_t first, int64_t last) {
        const Positions part = numbers.subspan(static_cast<size_t>(first), static_cast<size_t>(last - first));
        if (!are_places(part, size)) sound = false;
    });
    return sound;
}

}  // namespace

bool are_places(Positions numbers, int64_t size) {
    const uint64_t signs = best<outside>()(numbers.data(), std::ssize(numbers), static_cast<uint64_t>(size) - 1);
    return (signs >> 63) == 0;
}

diopiError_t refuse_places(std::string_view op, Positions numbers, int64_t size) {
    const auto [least, most] = std::ranges::minmax(numbers);
    return refuse(op, "an index holds " + std::to_string(most >= size ? most : least) + ", but there are " +
                          std::to_string(size) + " places");
}

diopiError_t require_places(diopiContextHandle_t ctx, int64_t count, int64_t*& places) {
    View room;
    const int64_t size[] = {std::max<int64_t>(count, 1)};
    const diopiError_t error = require(ctx, size, Dtype::int64, room);
    places = room.as<int64_t>();
    return error;
}

diopiError_t read_numbers(diopiContextHandle_t ctx, const View& index, Positions& numbers) {
    View dense;
    const diopiError_t error = contiguous_as(ctx, index, Dtype::int64, dense);
    numbers = {dense.as<const int64_t>(), static_cast<size_t>(index.numel)};
    return error;
}

diopiError_t read_positions(diopiContextHandle_t ctx, std::string_view op, const View& index, int64_t size,
                            Negative negative, Positions& positions) {
    diopiError_t error = read_numbers(ctx, index, positions);
    if (error != diopiSuccess || all_within(positions, size)) return error;
    const auto [least, most] = std::ranges::minmax(positions);
    const bool are_wrong = most >= size || least < (negative == Negative::from_end ? -size : 0);
    if (are_wrong) return refuse_places(op, positions, size);
    int64_t* wrapped = nullptr;
    error = require_places(ctx, index.numel, wrapped);
    if (error != diopiSuccess) return error;
    for (size_t i = 0; i < positions.size(); ++i) wrapped[i] = positions[i] < 0 ? positions[i] + size : positions[i];
    positions = {wrapped, positions.size()};
    return diopiSuccess;
}

}  // namespace diopi::cpu
