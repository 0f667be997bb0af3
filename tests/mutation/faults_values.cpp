/// Faults with wrong, old and missing elements.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "fault.hpp"

namespace diopi::mutation {

namespace {

constexpr int64_t kLargeIndex = int64_t{1} << 15;

/// Restores the values before the call in the elements that `chosen` names.
template <class Chosen>
void leave_unwritten(Scene& scene, Chosen chosen) {
    const Scene::Result* result = scene.first();
    if (result == nullptr) return;
    const Tensor& tensor = *result->tensor;
    for (int64_t i = 0; i < tensor.numel(); ++i) {
        if (chosen(i, tensor)) std::memcpy(element(tensor, i), element(*result->before, i), size_of(tensor.dtype));
    }
}

void last_unwritten(Scene& scene) {
    leave_unwritten(scene, [](int64_t i, const Tensor& t) { return i == t.numel() - 1; });
}

void row_ends_unwritten(Scene& scene) {
    leave_unwritten(scene, [](int64_t i, const Tensor& t) {
        const int64_t columns = t.shape.empty() ? 1 : t.shape.back();
        return columns < t.numel() && i % columns == columns - 1;
    });
}

template <int64_t kTile>
bool in_partial_tile(int64_t i, const Tensor& tensor) {
    const int64_t n = tensor.numel();
    return n > kTile && i >= n / kTile * kTile;
}

template <int64_t kTile>
void partial_tile_unwritten(Scene& scene) {
    leave_unwritten(scene, in_partial_tile<kTile>);
}

void stale(Scene& scene) {
    for (const Scene::Result& result : scene.results()) {
        if (!result.is_inout) put(*result.before, *result.tensor);
    }
}

void last_result_stale(Scene& scene) {
    if (scene.results().size() < 2) return;
    const Scene::Result& last = scene.results().back();
    put(*last.before, *last.tensor);
}

void inout_unchanged(Scene& scene) {
    for (const Scene::Result& result : scene.results()) {
        if (result.is_inout) put(*result.before, *result.tensor);
    }
}

void middle_wrong(Scene& scene) {
    if (const auto* result = scene.first()) alter(*result->tensor, result->tensor->numel() / 2);
}

void last_result_wrong(Scene& scene) {
    if (scene.results().size() < 2) return;
    const Tensor& last = *scene.results().back().tensor;
    alter(last, last.numel() / 2);
}

template <int64_t kTile>
void partial_tile_shifted(Scene& scene) {
    const auto* result = scene.first();
    if (result == nullptr) return;
    const Tensor& tensor = *result->tensor;
    for (int64_t i = 0; i < tensor.numel(); ++i) {
        if (!in_partial_tile<kTile>(i, tensor)) continue;
        std::memcpy(element(tensor, i), element(*result->right, i - 1), size_of(tensor.dtype));
    }
}

void sign_wrong(Scene& scene) {
    const auto* result = scene.first();
    if (result == nullptr) return;
    std::vector<double> values = values_of(*result->tensor);
    const auto larger = [](double a, double b) { return std::fabs(a) < std::fabs(b); };
    std::erase_if(values, [](double x) { return !std::isfinite(x); });
    if (values.size() < static_cast<size_t>(result->tensor->numel())) return;
    const auto largest = std::ranges::max_element(values, larger);
    if (largest == values.end() || *largest == 0) return;
    *largest = -*largest;
    put_values(values, *result->tensor);
}

void large_index_wrong(Scene& scene) {
    const auto* result = scene.first();
    if (result == nullptr || result->tensor->numel() <= kLargeIndex) return;
    alter(*result->tensor, kLargeIndex);
}

void index_off_by_one(Scene& scene) {
    for (size_t i = 0; i < scene.call().args.size(); ++i) {
        const Arg& arg = scene.call().row->args()[i];
        const auto* tensor = std::get_if<TensorPtr>(&scene.call().args[i]);
        if (!arg.is_output || !arg.four_bytes || tensor == nullptr || *tensor == nullptr) continue;
        if ((*tensor)->numel() > 0) alter(**tensor, (*tensor)->numel() - 1);
    }
}

/// Rows and columns of the last two dims; false if they cannot be distinguished.
bool matrix_of(const Tensor& tensor, int64_t& rows, int64_t& columns) {
    if (tensor.rank() < 2) return false;
    rows = tensor.shape[tensor.shape.size() - 2];
    columns = tensor.shape.back();
    return rows > 1 && columns > 1;
}

void axes_swapped(Scene& scene) {
    const auto* result = scene.first();
    int64_t rows = 0, columns = 0;
    if (result == nullptr || !matrix_of(*result->tensor, rows, columns)) return;
    for (int64_t i = 0; i < result->tensor->numel(); ++i) {
        const int64_t place = i % (rows * columns);
        const int64_t from = i - place + place % rows * columns + place / rows;
        std::memcpy(element(*result->tensor, i), element(*result->right, from), size_of(result->tensor->dtype));
    }
}

/// The first two dims in the other order, in memory that keeps the shape.
void first_axes_swapped(Scene& scene) {
    const auto* result = scene.first();
    if (result == nullptr || result->tensor->rank() < 3) return;
    const Tensor& tensor = *result->tensor;
    const int64_t planes = tensor.shape[0], rows = tensor.shape[1], inner = tensor.numel() / (planes * rows);
    for (int64_t i = 0; i < tensor.numel(); ++i) {
        const int64_t place = i / inner;
        const int64_t from = (place % planes * rows + place / planes) * inner + i % inner;
        std::memcpy(element(tensor, i), element(*result->right, from), size_of(tensor.dtype));
    }
}

void rows_swapped(Scene& scene) {
    const auto* result = scene.first();
    if (result == nullptr || result->tensor->shape.empty() || result->tensor->shape.front() < 2) return;
    const Tensor& tensor = *result->tensor;
    const int64_t row = tensor.numel() / tensor.shape.front();
    for (int64_t i = 0; i < 2 * row; ++i) {
        std::memcpy(element(tensor, i), element(*result->right, (i + row) % (2 * row)), size_of(tensor.dtype));
    }
}

void accumulated(Scene& scene) {
    for (const Scene::Result& result : scene.results()) {
        if (result.is_inout) continue;
        std::vector<double> sums = values_of(*result.right);
        const std::vector<double> before = values_of(*result.before);
        for (size_t i = 0; i < sums.size(); ++i) sums[i] += before[i];
        if (!sums.empty()) put_values(sums, *result.tensor);
    }
}

template <class Exchange>
void exchange_values(Scene& scene, Exchange exchange) {
    for (const Scene::Result& result : scene.results()) {
        std::vector<double> values = values_of(*result.right);
        bool any = false;
        for (double& value : values) {
            const double other = exchange(value, result.tensor->dtype);
            any = any || !(other == value || (std::isnan(other) && std::isnan(value)));
            value = other;
        }
        if (any) put_values(values, *result.tensor);
    }
}

void nan_swallowed(Scene& scene) {
    exchange_values(scene, [](double x, Dtype) { return std::isnan(x) ? 0 : x; });
}

double largest_of(Dtype dtype) {
    if (dtype == Dtype::float16) return 65504;
    if (dtype == Dtype::float64) return std::numeric_limits<double>::max();
    return dtype == Dtype::bfloat16 ? 0x1.fep127 : double{std::numeric_limits<float>::max()};
}

void infinity_saturated(Scene& scene) {
    exchange_values(scene, [](double x, Dtype d) { return std::isinf(x) ? std::copysign(largest_of(d), x) : x; });
}

void denormals_flushed(Scene& scene) {
    exchange_values(scene, [](double x, Dtype dtype) {
        const double smallest = dtype == Dtype::float16 ? 0x1p-14 : dtype == Dtype::float64 ? 0x1p-1022 : 0x1p-126;
        return std::fabs(x) < smallest ? 0 : x;
    });
}

/// Functions for which a denormal is not a rounding error: copies, single operations, functions.
bool keeps_denormals(const Row& row) { return row.accuracy <= AccuracyClass::C; }

bool has_indices(const Row& row) {
    return std::ranges::any_of(row.args(), [](const Arg& arg) { return arg.is_output && arg.four_bytes; });
}

/// Changes each number of the results that are int64.
template <class Exchange>
void exchange_int64(Scene& scene, Exchange exchange) {
    for (const Scene::Result& result : scene.results()) {
        if (result.right->dtype != Dtype::int64) continue;
        for (int64_t i = 0; i < result.right->numel(); ++i) {
            int64_t number = 0;
            std::memcpy(&number, element(*result.right, i), sizeof number);
            number = exchange(number);
            std::memcpy(element(*result.tensor, i), &number, sizeof number);
        }
    }
}

void wrapped_to_int32(Scene& scene) {
    exchange_int64(scene, [](int64_t x) { return int64_t{static_cast<int32_t>(x)}; });
}

void through_float64(Scene& scene) {
    exchange_int64(scene, [](int64_t x) {
        const auto rounded = static_cast<double>(x);
        return rounded < 0x1p63 ? static_cast<int64_t>(rounded) : std::numeric_limits<int64_t>::max();
    });
}

/// A grid of at most 65,535 blocks, each of which makes one element.
void grid_end_unwritten(Scene& scene) {
    leave_unwritten(scene, [](int64_t i, const Tensor&) { return i >= 65535; });
}

constexpr Fault kValuesFaults[] = {
    {"UL", "last_unwritten", "the last element is not written", last_unwritten},
    {"UR", "row_ends_unwritten", "the last element of each row is not written", row_ends_unwritten},
    {"U8", "tile_8_unwritten", "elements of the last partial tile of 8 are not written", partial_tile_unwritten<8>},
    {"U6", "tile_16_unwritten", "elements of the last partial tile of 16 are not written", partial_tile_unwritten<16>},
    {"UG", "grid_end_unwritten", "elements behind the first 65,535 are not written", grid_end_unwritten, has_outputs},
    {"US", "stale", "no output is written", stale, has_outputs},
    {"UO", "last_result_stale", "the last of several results is not written", last_result_stale},
    {"UI", "inout_unchanged", "a tensor that must change in place keeps its values", inout_unchanged, has_inouts},
    {"VM", "middle_wrong", "one element in the middle is wrong", middle_wrong, has_right_values},
    {"VO", "last_result_wrong", "one element of the last of several results is wrong", last_result_wrong,
     has_right_values},
    {"V8", "tile_8_shifted", "the last partial tile of 8 is off by one element", partial_tile_shifted<8>,
     has_right_values},
    {"V6", "tile_16_shifted", "the last partial tile of 16 is off by one element", partial_tile_shifted<16>,
     has_right_values},
    {"VS", "sign_wrong", "the largest element has the wrong sign", sign_wrong, has_right_values},
    {"VL", "large_index_wrong", "element 2^15 is wrong", large_index_wrong, has_right_values},
    {"VI", "index_off_by_one", "the last of the indices is off by one", index_off_by_one, has_indices},
    {"VT", "axes_swapped", "the last two axes of the result are swapped", axes_swapped, has_right_values},
    {"VX", "first_axes_swapped", "the first two axes of the result are swapped", first_axes_swapped, has_right_values},
    {"VR", "rows_swapped", "the first two rows of the result are swapped", rows_swapped, has_right_values},
    {"VW", "wrapped_to_int32", "results of int64 are wrapped to 32 bits", wrapped_to_int32, has_right_values},
    {"V5", "through_float64", "results of int64 go through float64", through_float64, has_right_values},
    {"VA", "accumulated", "results are added to the old values of the outputs", accumulated, has_outputs},
    {"VN", "nan_swallowed", "NaN becomes 0", nan_swallowed, has_right_values},
    {"VF", "infinity_saturated", "infinity becomes the largest number", infinity_saturated, has_right_values},
    {"VD", "denormals_flushed", "denormal results become 0", denormals_flushed, keeps_denormals},
};

}  // namespace

std::span<const Fault> value_faults() { return kValuesFaults; }

}  // namespace diopi::mutation
