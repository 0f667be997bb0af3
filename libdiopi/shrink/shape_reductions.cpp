// Edits of dims and ranks.
#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "cases/bind.hpp"
#include "shrink/reductions.hpp"

namespace diopi {

namespace {

/// Keeps the stated values of the leading part of dim `dim`.
std::vector<double> leading(const std::vector<double>& values, const Shape& shape, size_t dim, int64_t size) {
    const auto tail = static_cast<size_t>(numel(ShapeView(shape).subspan(dim + 1)));
    const size_t row = tail * static_cast<size_t>(shape[dim]);
    std::vector<double> kept;
    for (size_t first = 0; row > 0 && first + row <= values.size(); first += row) {
        const auto from = values.begin() + static_cast<std::ptrdiff_t>(first);
        kept.insert(kept.end(), from, from + static_cast<std::ptrdiff_t>(tail * static_cast<size_t>(size)));
    }
    return kept;
}

void resize_dim(CaseTensor& tensor, TensorSpec& spec, size_t dim, int64_t size) {
    if (tensor.fill.fn == Fill::kValue) tensor.values = leading(tensor.values, spec.shape, dim, size);
    spec.shape[dim] = size;
}

/// Makes indices below `from` stay below `to`.
void keep_indices_within(Case& c, int64_t from, int64_t to) {
    const auto limit = static_cast<double>(from);
    const auto least = static_cast<double>(to);
    for (CaseTensor& tensor : c.tensors) {
        if (tensor.absent || tensor.specs.empty() || !is_integer(tensor.specs.front().dtype)) continue;
        if (!has_meaning(c, tensor)) continue;
        if (tensor.fill.high <= limit && tensor.fill.high > least) {
            tensor.fill.high = least;
            tensor.fill.low = std::clamp(tensor.fill.low, -least, least - 1);
        }
        for (double& value : tensor.values) {
            if (value < limit) value = std::clamp(value, -least, least - 1);
        }
    }
}

/// Replaces numbers of a parameter that equal `from` by `to`.
bool rename_in(Param& param, int64_t from, int64_t to) {
    if (auto* whole = std::get_if<int64_t>(&param.value)) {
        if (*whole != from) return false;
        *whole = to;
        return true;
    }
    bool any = false;
    if (auto* list = std::get_if<std::vector<Param>>(&param.value)) {
        for (Param& item : *list) any |= rename_in(item, from, to);
    }
    return any;
}

enum class Params { kStay, kFollow };

/// Every dim of size `from` gets size `to`. With kFollow only if a parameter follows.
bool rename_size(Case& c, int64_t from, int64_t to, Params params) {
    bool any = false, follows = false;
    for (CaseTensor& tensor : c.tensors) {
        for (TensorSpec& spec : tensor.specs) {
            for (size_t dim = 0; dim < spec.shape.size(); ++dim) {
                if (spec.shape[dim] != from) continue;
                resize_dim(tensor, spec, dim, to);
                any = true;
            }
        }
    }
    if (params == Params::kFollow) {
        for (auto& [name, param] : c.params) follows |= rename_in(param, from, to);
        if (!follows) return false;
    }
    if (any) keep_indices_within(c, from, to);
    return any;
}

/// 1, then sizes ever closer to it from below: N/2, 3N/4, 7N/8, ..., N-1, and all of the last eight.
std::set<int64_t> smaller_sizes(int64_t size) {
    constexpr int64_t kNear = 8;
    std::set<int64_t> sizes = {1};
    for (int64_t gap = size / 2; gap > 0; gap /= 2) sizes.insert(size - gap);
    for (int64_t gap = 1; gap <= kNear && gap < size; ++gap) sizes.insert(size - gap);
    if (size <= 1) sizes.clear();
    return sizes;
}

/// Sizes above 1, the largest first.
std::set<int64_t, std::greater<>> sizes_of(const Case& c) {
    std::set<int64_t, std::greater<>> sizes;
    for (const CaseTensor& tensor : c.tensors) {
        for (const TensorSpec& spec : tensor.specs) {
            for (const int64_t size : spec.shape) {
                if (size > 1) sizes.insert(size);
            }
        }
    }
    return sizes;
}

/// Applies `smaller` to every size at once.
Edit of_all_sizes(int64_t (*smaller)(int64_t)) {
    return [smaller](Case& c) {
        bool any = false;
        // The loop starts with the smallest size, so that a size that was reduced is not met again.
        const auto sizes = sizes_of(c);
        for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
            any |= rename_size(c, *size, smaller(*size), Params::kStay);
        }
        return any;
    };
}

/// Resizes one dim of one tensor of an argument, if it still has the size `from`.
bool resize_one(Case& c, const std::string& name, size_t position, size_t dim, int64_t from, int64_t to) {
    CaseTensor* tensor = find_present(c, name);
    if (tensor == nullptr || position >= tensor->specs.size()) return false;
    TensorSpec& spec = tensor->specs[position];
    if (dim >= spec.shape.size() || spec.shape[dim] != from) return false;
    resize_dim(*tensor, spec, dim, to);
    keep_indices_within(c, from, to);
    return true;
}

void drop_dim(TensorSpec& spec, size_t dim) {
    const auto at = static_cast<std::ptrdiff_t>(dim);
    spec.shape.erase(spec.shape.begin() + at);
    if (!spec.strides.empty()) spec.strides.erase(spec.strides.begin() + at);
}

/// Corrects parameters that count dims from the front.
void shift_dims(Param& param, int64_t dropped) {
    if (auto* dim = std::get_if<int64_t>(&param.value); dim != nullptr && *dim > dropped) --*dim;
    if (auto* list = std::get_if<std::vector<Param>>(&param.value)) {
        for (Param& item : *list) shift_dims(item, dropped);
    }
}

enum class From { kFront, kBack };

/// Drops the dim number `dim`, counted from one end, of all tensors (or the one with that name) where it has size 1.
bool drop_dims(Case& c, size_t dim, From from, const std::string& only) {
    bool any = false;
    for (CaseTensor& tensor : c.tensors) {
        if ((!only.empty() && tensor.name != only) || tensor.sparse_csr) continue;
        for (TensorSpec& spec : tensor.specs) {
            const size_t rank = spec.shape.size();
            if (dim >= rank) continue;
            const size_t at = from == From::kFront ? dim : rank - 1 - dim;
            if (spec.shape[at] != 1) continue;
            drop_dim(spec, at);
            any = true;
        }
    }
    if (from == From::kBack || !only.empty()) return any;
    for (auto& [name, param] : c.params) {
        if (names_dims(c.op, name)) shift_dims(param, static_cast<int64_t>(dim));
    }
    return any;
}

/// Merges the dims `dim` and `dim` + 1, counted from one end, of all tensors that have both.
bool merge_dims(Case& c, size_t dim, From from) {
    bool any = false;
    for (CaseTensor& tensor : c.tensors) {
        for (TensorSpec& spec : tensor.specs) {
            const size_t rank = spec.shape.size();
            if (dim + 1 >= rank || !spec.strides.empty() || tensor.sparse_csr) continue;
            const size_t at = from == From::kFront ? dim : rank - 2 - dim;
            spec.shape[at + 1] *= spec.shape[at];
            drop_dim(spec, at);
            any = true;
        }
    }
    return any;
}

size_t highest_rank(const CaseTensor& tensor) {
    size_t rank = 0;
    for (const TensorSpec& spec : tensor.specs) rank = std::max(rank, spec.shape.size());
    return rank;
}

}  // namespace

std::vector<Edit> dim_edits(const Case& c) {
    std::vector<Edit> edits = {of_all_sizes([](int64_t) { return int64_t{1}; }),
                               of_all_sizes([](int64_t size) { return size / 2; })};
    for (const int64_t from : sizes_of(c)) {
        for (const int64_t to : smaller_sizes(from)) {
            edits.emplace_back([from, to](Case& x) { return rename_size(x, from, to, Params::kStay); });
            edits.emplace_back([from, to](Case& x) { return rename_size(x, from, to, Params::kFollow); });
        }
    }
    for (const CaseTensor& tensor : c.tensors) {
        for (size_t i = 0; i < tensor.specs.size(); ++i) {
            const Shape& shape = tensor.specs[i].shape;
            for (size_t dim = 0; dim < shape.size(); ++dim) {
                for (const int64_t to : smaller_sizes(shape[dim])) {
                    edits.emplace_back([name = tensor.name, i, dim, from = shape[dim], to](Case& x) {
                        return resize_one(x, name, i, dim, from, to);
                    });
                }
            }
        }
    }
    return edits;
}

std::vector<Edit> rank_edits(const Case& c) {
    std::vector<Edit> edits;
    const auto add = [&](size_t rank, const std::string& only) {
        for (size_t dim = 0; dim < rank; ++dim) {
            for (const From from : {From::kFront, From::kBack}) {
                edits.emplace_back([dim, from, only](Case& x) { return drop_dims(x, dim, from, only); });
            }
        }
    };
    size_t rank = 0;
    for (const CaseTensor& tensor : c.tensors) rank = std::max(rank, highest_rank(tensor));
    add(rank, "");
    for (const CaseTensor& tensor : c.tensors) add(highest_rank(tensor), tensor.name);
    for (size_t dim = 0; dim + 1 < rank; ++dim) {
        for (const From from : {From::kFront, From::kBack}) {
            edits.emplace_back([dim, from](Case& x) { return merge_dims(x, dim, from); });
        }
    }
    return edits;
}

}  // namespace diopi
