#include "kernels/cpu/positions.hpp"

#include <algorithm>
#include <string>

namespace diopi::cpu {

diopiError_t require_places(diopiContextHandle_t ctx, int64_t count, int64_t*& places) {
    View room;
    const int64_t size[] = {std::max<int64_t>(count, 1)};
    const diopiError_t error = require(ctx, size, Dtype::int64, room);
    places = room.as<int64_t>();
    return error;
}

diopiError_t read_positions(diopiContextHandle_t ctx, std::string_view op, const View& index, int64_t size,
                            Negative negative, Positions& positions) {
    View dense;
    diopiError_t error = contiguous_as(ctx, index, Dtype::int64, dense);
    if (error != diopiSuccess) return error;
    positions = {dense.as<const int64_t>(), static_cast<size_t>(index.numel)};
    int64_t least = 0, most = -1;
    for (const int64_t at : positions) {
        least = std::min(least, at);
        most = std::max(most, at);
    }
    if (most >= size || least < (negative == Negative::from_end ? -size : 0)) {
        return refuse(op, "an index holds " + std::to_string(most >= size ? most : least) + ", but there are " +
                              std::to_string(size) + " places");
    }
    if (least >= 0) return diopiSuccess;
    int64_t* wrapped = nullptr;
    error = require_places(ctx, index.numel, wrapped);
    if (error != diopiSuccess) return error;
    for (size_t i = 0; i < positions.size(); ++i) wrapped[i] = positions[i] < 0 ? positions[i] + size : positions[i];
    positions = {wrapped, positions.size()};
    return diopiSuccess;
}

}  // namespace diopi::cpu
