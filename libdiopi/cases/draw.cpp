#include "cases/draw.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "cases/fills.hpp"
#include "core/normal.hpp"
#include "core/strided.hpp"

namespace diopi {

namespace {

/// `first`: elements of the list before this tensor.
Status fill_target(const FillTarget& target, uint64_t key, const CaseTensor& argument, int64_t first) {
    if (target.count == 0 && argument.fill.fn != Fill::kValue) return {};
    const Shape& shape = target.spec.shape;
    switch (argument.fill.fn) {
        case Fill::kRand:
            return fill_uniform_unit(target, key);
        case Fill::kRandn:
        case Fill::kRandnComplex:
            fill_randn(target, key);
            break;
        case Fill::kUniform:
        case Fill::kRandint:
        case Fill::kRandnInt:
            return fill_from_range(target, key, argument.fill);
        case Fill::kPositive:
            fill_magnitude(target, key);
            break;
        case Fill::kMask:
            fill_mask(target, key, Parts::kReal);
            break;
        case Fill::kEmpty:
            fill_poison(target);
            break;
        case Fill::kOnes:
            fill_constant(target, 1);
            break;
        case Fill::kZeros:
            fill_constant(target, 0);
            break;
        case Fill::kLogSoftmax:
            fill_log_softmax(target, key);
            break;
        case Fill::kSymMat:
            if (shape.size() < 2 || shape[shape.size() - 1] != shape[shape.size() - 2]) {
                return bad_input("sym_mat needs square matrices in the last two dims, the shape is " +
                                 to_string(shape));
            }
            fill_symmetric(target, key);
            break;
        case Fill::kValue:
            if (static_cast<int64_t>(argument.values.size()) != target.count) {
                return bad_input(std::to_string(argument.values.size()) + " values are given for the shape " +
                                 to_string(shape) + " of " + std::to_string(target.count) + " elements");
            }
            fill_doubles(target, argument.values);
            break;
        case Fill::kExact:
            fill_exact(target, key);
            break;
        case Fill::kSpecial:
            fill_special(target, key, Extremes::kAll);
            break;
        case Fill::kSpecialSums:
            fill_special(target, key, Extremes::kSummable);
            break;
        case Fill::kSpecialFactors:
            fill_special(target, key, Extremes::kFinite);
            break;
        case Fill::kWide:
            fill_wide(target, key);
            break;
        case Fill::kTies:
            fill_ties(target, key);
            break;
        case Fill::kCancelling:
            fill_cancelling(target, key);
            break;
        case Fill::kCaptured:
            if (argument.captured == nullptr || argument.captured->numel() == 0) {
                return bad_input("there are no captured values to take");
            }
            fill_captured(target, *argument.captured, first);
            break;
    }
    return {};
}

Result<TensorPtr> draw_dense(const CaseTensor& argument, const TensorSpec& spec, uint64_t key, int64_t first,
                             Device& memory) {
    auto tensor = make_tensor(memory, {spec.shape, spec.dtype, {}});
    if (!tensor.ok()) return tensor;
    const FillTarget target{spec, component_of(spec.dtype), (*tensor)->numel(),
                            static_cast<std::byte*>((*tensor)->storage.memory.get())};
    if (Status s = fill_target(target, key, argument, first); !s.ok()) return s.error();
    return tensor;
}

Shape non_contiguous_strides(const Shape& shape) {
    Shape strides = contiguous_strides(shape);
    if (numel(shape) <= 1) return strides;
    const size_t rank = shape.size();
    if (rank >= 2) {
        Shape swapped = shape;
        std::swap(swapped[rank - 1], swapped[rank - 2]);
        strides = contiguous_strides(swapped);
        std::swap(strides[rank - 1], strides[rank - 2]);
    }
    if (is_contiguous(shape, strides)) {
        for (int64_t& stride : strides) stride *= 2;
    }
    return strides;
}

/// storage_extent for strides that a user wrote.
Result<int64_t> checked_extent(const TensorSpec& spec) {
    const std::string strides = "strides " + to_string(spec.strides);
    if (spec.strides.size() != spec.shape.size()) {
        return bad_input(strides + " do not match the rank of the shape " + to_string(spec.shape));
    }
    int64_t last = 0;
    for (size_t i = 0; i < spec.shape.size(); ++i) {
        if (spec.strides[i] < 0) return bad_input(strides + " have a negative one; strides must be 0 or more");
        int64_t span = 0;
        if (spec.shape[i] > 0 && (__builtin_mul_overflow(spec.shape[i] - 1, spec.strides[i], &span) ||
                                  __builtin_add_overflow(last, span, &last))) {
            return bad_input(strides + " reach beyond the address space");
        }
    }
    int64_t nbytes = 0;
    if (last == INT64_MAX || __builtin_mul_overflow(last + 1, static_cast<int64_t>(size_of(spec.dtype)), &nbytes)) {
        return bad_input(strides + " reach beyond the address space");
    }
    return storage_extent(spec.shape, spec.strides);
}

Result<TensorPtr> lay_out(const TensorPtr& dense, const Shape& strides, Device& memory) {
    auto view = make_tensor(memory, {dense->shape, dense->dtype, strides});
    if (!view.ok()) return view;
    const TensorSpec spec{dense->shape, dense->dtype, strides};
    fill_poison({spec, component_of(spec.dtype), storage_extent(spec.shape, strides),
                 static_cast<std::byte*>((*view)->storage.memory.get())});
    copy_strided(*dense, **view);
    return view;
}

Result<TensorPtr> draw_strided(const CaseTensor& argument, TensorSpec spec, uint64_t key, int64_t first,
                               Device& memory) {
    if (!spec.strides.empty()) {
        if (auto extent = checked_extent(spec); !extent.ok()) return extent.error();
    } else if (argument.no_contiguous) {
        spec.strides = non_contiguous_strides(spec.shape);
    }
    if (spec.strides.empty()) return draw_dense(argument, spec, key, first, memory);
    auto dense = draw_dense(argument, spec, key, first, cpu_device());
    return dense.ok() ? lay_out(*dense, spec.strides, memory) : dense;
}

/// Row-major indices of the elements that a CSR tensor stores.
std::vector<int64_t> draw_pattern(int64_t count, double density, uint64_t key) {
    const auto limit = static_cast<uint64_t>(std::ceil(density * 0x1p32));
    std::vector<int64_t> stored;
    uint32_t words[kTile];
    for (int64_t first = 0; first < count; first += kTile) {
        const auto n = static_cast<size_t>(std::min(kTile, count - first));
        word_block(key, kPatternStream, first, std::span<uint32_t>(words, n));
        for (size_t i = 0; i < n; ++i) {
            if (words[i] < limit) stored.push_back(first + static_cast<int64_t>(i));
        }
    }
    return stored;
}

Result<TensorPtr> draw_csr(const CaseTensor& argument, const TensorSpec& spec, uint64_t key) {
    const double density = argument.fill.density;
    if (spec.shape.size() != 2) return bad_input("a CSR tensor has rank 2, the shape is " + to_string(spec.shape));
    if (!(density >= 0.0 && density <= 1.0)) {
        return bad_input("the density " + std::to_string(density) + " is not in [0, 1]");
    }
    auto dense = draw_dense(argument, spec, key, 0, cpu_device());
    if (!dense.ok()) return dense;
    const int64_t rows = spec.shape[0];
    const int64_t columns = spec.shape[1];
    const std::vector<int64_t> stored = draw_pattern((*dense)->numel(), density, key);
    const auto nnz = static_cast<int64_t>(stored.size());
    auto crow = make_tensor(cpu_device(), {{rows + 1}, Dtype::int64, {}});
    auto col = make_tensor(cpu_device(), {{nnz}, Dtype::int64, {}});
    auto values = make_tensor(cpu_device(), {{nnz}, spec.dtype, {}});
    for (const auto* part : {&crow, &col, &values}) {
        if (!part->ok()) return part->error();
    }
    auto* row_starts = (*crow)->data_as<int64_t>();
    std::fill_n(row_starts, rows + 1, int64_t{0});
    const size_t size = size_of(spec.dtype);
    for (size_t i = 0; i < stored.size(); ++i) {
        ++row_starts[stored[i] / columns + 1];
        (*col)->data_as<int64_t>()[i] = stored[i] % columns;
        std::memcpy((*values)->data_as<std::byte>() + i * size,
                    (*dense)->data_as<std::byte>() + static_cast<size_t>(stored[i]) * size, size);
    }
    for (int64_t row = 0; row < rows; ++row) row_starts[row + 1] += row_starts[row];

    auto tensor = std::make_shared<Tensor>();
    tensor->shape = spec.shape;
    tensor->strides = contiguous_strides(spec.shape);
    tensor->dtype = spec.dtype;
    tensor->crow_indices = *crow;
    tensor->col_indices = *col;
    tensor->values = *values;
    return tensor;
}

Result<TensorPtr> draw_one(const CaseTensor& argument, const TensorSpec& spec, uint64_t key, int64_t first,
                           Device& memory) {
    if (size_of(spec.dtype) == 0) return bad_input("the dtype is not one that a tensor can have");
    const std::optional<int64_t> count = checked_numel(spec.shape);
    if (!count || *count > INT64_MAX / 64) {
        return bad_input("a tensor of shape " + to_string(spec.shape) + " has no valid number of elements");
    }
    return argument.sparse_csr ? draw_csr(argument, spec, key) : draw_strided(argument, spec, key, first, memory);
}

/// Finaliser of splitmix64 (Vigna): every input bit reaches every output bit.
uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

}  // namespace

uint64_t tensor_key(uint64_t case_key, std::string_view name, int64_t position) {
    uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return mix(mix(mix(case_key) ^ hash) ^ static_cast<uint64_t>(position));
}

Result<std::vector<TensorPtr>> draw(const CaseTensor& tensor, uint64_t case_key, Device& memory) {
    std::vector<TensorPtr> drawn;
    if (tensor.absent) return drawn;
    int64_t first = 0;
    for (const TensorSpec& spec : tensor.specs) {
        const auto position = static_cast<int64_t>(drawn.size());
        auto one = draw_one(tensor, spec, tensor_key(case_key, tensor.name, position), first, memory);
        if (!one.ok()) {
            const std::string index = tensor.is_list ? std::string("[") + std::to_string(position) + "]" : "";
            return Error{one.error().code, "argument '" + tensor.name + "'" + index + ": " + one.error().message};
        }
        first += numel(spec.shape);
        drawn.push_back(std::move(*one));
    }
    return drawn;
}

}  // namespace diopi
