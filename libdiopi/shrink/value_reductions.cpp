// Edits of fills and stated values.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "cases/draw.hpp"
#include "core/convert.hpp"
#include "runtime/device.hpp"
#include "shrink/reductions.hpp"

namespace diopi {

namespace {

/// Small whole numbers. Fill::kExact is avoided: if all tensors have it, a run requires exact results for sums of
/// products, a harder rule than the case's own.
constexpr FillSpec kWhole = {Fill::kRandint, -2, 3};

/// The distance of a fill from ones; only steps that reduce it are taken, so that the search ends.
int complexity(const FillSpec& fill) {
    if (fill.fn == Fill::kOnes) return 0;
    if (fill.fn == Fill::kZeros) return 1;
    return fill == kWhole ? 2 : 3;
}

/// Whether the case depends on how the tensor is filled: an index, matrices that must be positive definite.
bool must_keep_fill(const Case& c, const CaseTensor& tensor) {
    const Fill fn = tensor.fill.fn;
    return fn == Fill::kEmpty || fn == Fill::kSymMat || fn == Fill::kLogSoftmax || tensor.sparse_csr ||
           has_meaning(c, tensor);
}

bool refill(Case& c, const FillSpec& fill, const std::string& only) {
    bool any = false;
    for (CaseTensor& tensor : c.tensors) {
        if (tensor.absent || tensor.specs.empty() || (!only.empty() && tensor.name != only)) continue;
        // Stated values are simpler than drawn ones, except those that are all equal.
        const bool stated = tensor.fill.fn == Fill::kValue;
        const int limit = stated ? complexity(kWhole) : complexity(tensor.fill);
        if (complexity(fill) >= limit || must_keep_fill(c, tensor)) continue;
        const double density = tensor.fill.density;
        tensor.fill = fill;
        tensor.fill.density = density;
        tensor.values.clear();
        tensor.captured = nullptr;
        any = true;
    }
    return any;
}

/// The values that the tensor draws; empty if a file cannot state them: for lists, sparse or complex tensors, and
/// tensors with strides.
std::vector<double> drawn_values(const CaseTensor& tensor, uint64_t key) {
    if (tensor.absent || tensor.specs.size() != 1 || tensor.is_list || tensor.sparse_csr) return {};
    const TensorSpec& spec = tensor.specs.front();
    if (is_complex(spec.dtype) || !spec.strides.empty()) return {};
    auto tensors = draw(tensor, key);
    if (!tensors.ok()) return {};
    auto wide = make_tensor(cpu_device(), {spec.shape, wide_dtype(spec.dtype), {}});
    if (!wide.ok()) return {};
    widen(*tensors->front(), **wide);
    std::vector<double> values(static_cast<size_t>((*wide)->numel()));
    for (size_t i = 0; i < values.size(); ++i) {
        switch ((*wide)->dtype) {
            case Dtype::int64:
                values[i] = static_cast<double>((*wide)->data_as<int64_t>()[i]);
                break;
            case Dtype::boolean:
                values[i] = (*wide)->data_as<bool>()[i] ? 1 : 0;
                break;
            default:
                values[i] = (*wide)->data_as<double>()[i];
        }
    }
    return values;
}

/// 0 for 0, 1 for 1, 2 for -1, 3 for other whole numbers up to 8, 4 for larger ones, 5 for fractions and the rest.
int complexity(double x) {
    if (x == 0) return std::signbit(x) ? 5 : 0;
    if (x == 1 || x == -1) return x > 0 ? 1 : 2;
    if (!std::isfinite(x) || x != std::trunc(x)) return 5;
    return std::fabs(x) <= 8 ? 3 : 4;
}

double to_zero(double) { return 0; }
double to_one(double) { return 1; }
double to_sign(double x) { return std::copysign(1.0, x); }
double to_whole(double x) { return std::isfinite(x) ? std::round(x) : x; }
double to_few(double x) { return std::isfinite(x) ? std::copysign(std::min(std::fabs(std::round(x)), 8.0), x) : x; }
constexpr std::array kSimplifiers = {to_zero, to_one, to_sign, to_few, to_whole};

/// Simplifies elements from `first` on. An index may only become 0.
bool simplify_values(Case& c, const std::string& name, size_t first, size_t count, double (*simpler)(double)) {
    CaseTensor* tensor = find_present(c, name);
    if (tensor == nullptr || tensor->fill.fn != Fill::kValue || tensor->values.size() < first + count) return false;
    if (simpler != to_zero && has_meaning(c, *tensor)) return false;
    bool any = false;
    for (size_t i = first; i < first + count; ++i) {
        double& value = tensor->values[i];
        const double candidate = simpler(value);
        if (complexity(candidate) >= complexity(value)) continue;
        value = candidate;
        any = true;
    }
    return any;
}

}  // namespace

std::vector<Edit> fill_edits(const Case& c) {
    constexpr std::array kSimple = {FillSpec{Fill::kOnes}, FillSpec{Fill::kZeros}, kWhole};
    std::vector<Edit> edits;
    for (const FillSpec& fill : kSimple) {
        edits.emplace_back([fill](Case& x) { return refill(x, fill, ""); });
    }
    for (const CaseTensor& tensor : c.tensors) {
        for (const FillSpec& fill : kSimple) {
            edits.emplace_back([fill, name = tensor.name](Case& x) { return refill(x, fill, name); });
        }
    }
    return edits;
}

std::vector<Edit> value_edits(const Case& c) {
    std::vector<Edit> edits;
    for (const CaseTensor& tensor : c.tensors) {
        const size_t size = tensor.fill.fn == Fill::kValue ? tensor.values.size() : 0;
        for (size_t count = size; count > 0; count /= 2) {
            for (const auto simpler : kSimplifiers) {
                for (size_t first = 0; first < size; first += count) {
                    const size_t here = std::min(count, size - first);
                    edits.emplace_back([name = tensor.name, first, here, simpler](Case& x) {
                        return simplify_values(x, name, first, here, simpler);
                    });
                }
            }
        }
    }
    return edits;
}

bool state_values(Case& c, uint64_t seed, int64_t most) {
    bool any = false;
    const uint64_t key = c.key(seed);
    for (CaseTensor& tensor : c.tensors) {
        if (tensor.absent || tensor.specs.size() != 1 || tensor.fill.fn == Fill::kValue) continue;
        if (tensor.fill.fn != Fill::kCaptured && complexity(tensor.fill) < complexity(kWhole)) continue;
        if (tensor.fill.fn == Fill::kEmpty || numel(tensor.specs.front().shape) > most) continue;
        std::vector<double> values = drawn_values(tensor, key);
        if (values.empty()) continue;
        tensor.values = std::move(values);
        tensor.fill = FillSpec{Fill::kValue};
        tensor.captured = nullptr;
        any = true;
    }
    return any;
}

}  // namespace diopi
