#include "kernels/cuda/nest.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

namespace diopi::cuda {

namespace {

/// Whether dimension `a` belongs inside dimension `b`: the output decides, the others where it cannot.
bool belongs_inside(const Nest& nest, size_t a, size_t b) {
    for (size_t k = 0; k < static_cast<size_t>(nest.operands); ++k) {
        const int64_t stride_a = std::abs(nest.strides[k][a]), stride_b = std::abs(nest.strides[k][b]);
        if (stride_a != 0 && stride_b != 0 && stride_a != stride_b) return stride_a < stride_b;
    }
    return false;
}

void swap_dims(Nest& nest, size_t a, size_t b) {
    std::swap(nest.sizes[a], nest.sizes[b]);
    for (auto& strides : nest.strides) std::swap(strides[a], strides[b]);
}

void copy_dim(Nest& nest, size_t from, size_t to) {
    nest.sizes[to] = nest.sizes[from];
    for (auto& strides : nest.strides) strides[to] = strides[from];
}

bool is_one_run(const Nest& nest, size_t outer, size_t inner) {
    return std::all_of(nest.strides.begin(), nest.strides.begin() + nest.operands,
                       [&](const auto& strides) { return strides[outer] == strides[inner] * nest.sizes[inner]; });
}

/// The dimensions that are not of size 1, sorted; their number.
size_t collect(Nest& nest, std::span<const View> operands) {
    const ShapeView shape = operands[0].shape;
    size_t rank = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] == 1) continue;
        nest.sizes[rank] = shape[d];
        for (size_t k = 0; k < operands.size(); ++k) {
            const View& v = operands[k];
            const size_t missing = shape.size() - v.shape.size();
            const bool repeats = d < missing || v.shape[d - missing] == 1;
            nest.strides[k][rank] = repeats ? 0 : v.strides[d - missing];
        }
        for (size_t i = rank; i > 0 && belongs_inside(nest, i - 1, i); --i) swap_dims(nest, i - 1, i);
        ++rank;
    }
    return rank;
}

/// Bytes that a view spans: [first, second).
std::pair<const std::byte*, const std::byte*> extent(const View& v) {
    int64_t low = 0, high = 1;
    for (size_t d = 0; d < v.shape.size(); ++d) {
        const int64_t span = (v.shape[d] - 1) * v.strides[d];
        (span < 0 ? low : high) += span;
    }
    return {v.data + low * v.item_size(), v.data + high * v.item_size()};
}

bool broadcasts_to(ShapeView shape, ShapeView target) {
    if (shape.size() > target.size()) return false;
    return std::equal(shape.rbegin(), shape.rend(), target.rbegin(),
                      [](int64_t from, int64_t to) { return from == 1 || from == to; });
}

bool repeats_elements(const View& v) {
    for (size_t d = 0; d < v.shape.size(); ++d) {
        if (v.strides[d] == 0 && v.shape[d] > 1) return true;
    }
    return false;
}

}  // namespace

bool Nest::is_run() const {
    if (rank != 1) return false;
    if (sizes[0] == 1) return true;
    if (strides[0][0] != 1) return false;
    return std::all_of(strides.begin(), strides.begin() + operands,
                       [](const auto& each) { return each[0] == 0 || each[0] == 1; });
}

bool Nest::fits_32_bits() const {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    if (numel > kMost) return false;
    for (size_t k = 0; k < static_cast<size_t>(operands); ++k) {
        // Places of both signs: what lies on either side must fit by itself.
        int64_t below = 0, above = 0;
        for (size_t d = 0; d < static_cast<size_t>(rank); ++d) {
            const int64_t span = (sizes[d] - 1) * strides[k][d];
            (span < 0 ? below : above) += std::abs(span);
        }
        if (std::max(below, above) > kMost) return false;
    }
    return true;
}

Nest make_nest(std::span<const View> operands) {
    Nest nest;
    nest.operands = static_cast<int>(operands.size());
    nest.numel = operands[0].numel;
    const size_t rank = collect(nest, operands);
    size_t last = 0;
    for (size_t d = 1; d < rank; ++d) {
        if (is_one_run(nest, last, d)) {
            const int64_t outer = nest.sizes[last];
            copy_dim(nest, d, last);
            nest.sizes[last] *= outer;
        } else {
            copy_dim(nest, d, ++last);
        }
    }
    if (rank == 0) nest.sizes[0] = 1;
    nest.rank = static_cast<int>(last + 1);
    return nest;
}

Halves split(const Nest& nest) {
    size_t widest = 0;
    int64_t most = 0;
    for (size_t d = 0; d < static_cast<size_t>(nest.rank); ++d) {
        int64_t span = nest.sizes[d] - 1;
        for (size_t k = 0; k < static_cast<size_t>(nest.operands); ++k) {
            span = std::max(span, (nest.sizes[d] - 1) * std::abs(nest.strides[k][d]));
        }
        if (span <= most) continue;
        most = span;
        widest = d;
    }
    Halves halves{{nest, nest}};
    const int64_t size = nest.sizes[widest], first = size / 2;
    for (size_t half = 0; half < 2; ++half) {
        Nest& part = halves.nests[half];
        part.sizes[widest] = half == 0 ? first : size - first;
        part.numel = nest.numel / size * part.sizes[widest];
    }
    for (size_t k = 0; k < halves.places.size(); ++k) halves.places[k] = first * nest.strides[k][widest];
    return halves;
}

diopiError_t check_views(std::string_view op, const View& out, std::span<const View> ins) {
    if (out.shape.size() > kMaxRank) return wrong_shape(op, "out", out.shape, "at most 16 dimensions");
    if (repeats_elements(out)) {
        return wrong_shape(op, "the output", out.shape, "one memory location for each element (no stride 0)");
    }
    for (const View& in : ins) {
        if (broadcasts_to(in.shape, out.shape)) continue;
        return wrong_shape(op, "an input", in.shape, "one that broadcasts to the output's " + to_string(out.shape));
    }
    return diopiSuccess;
}

bool is_in_the_way(const View& out, const View& in) {
    if (out.data == nullptr || in.data == nullptr) return false;
    const bool is_same = out.data == in.data && out.item_size() == in.item_size() &&
                         std::ranges::equal(out.shape, in.shape) && std::ranges::equal(out.strides, in.strides);
    if (is_same) return false;
    const auto [out_first, out_last] = extent(out);
    const auto [in_first, in_last] = extent(in);
    return out_first < in_last && in_first < out_last;
}

}  // namespace diopi::cuda
