#include "shrink/reductions.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "cases/bind.hpp"

namespace diopi {

namespace {

bool is_there(const CaseTensor& tensor) { return !tensor.absent && !tensor.specs.empty(); }

/// Whether the tensor has integers of a range that the case chose, or stated ones.
bool is_ranged(const CaseTensor& tensor) {
    const Fill fn = tensor.fill.fn;
    const bool ranged = fn == Fill::kRandint || fn == Fill::kRandnInt || fn == Fill::kValue;
    return is_there(tensor) && ranged && is_integer(tensor.specs.front().dtype);
}

bool no_backward(Case& c) {
    const bool any = std::ranges::any_of(c.tensors, &CaseTensor::requires_grad);
    for (CaseTensor& tensor : c.tensors) tensor.requires_grad = false;
    c.backward = false;
    c.saved.clear();
    c.grad_outputs.clear();
    c.grad_fill = kOnesFill;
    return any;
}

bool no_inplace(Case& c) { return std::exchange(c.inplace, false); }

std::vector<Edit> step_edits(const Case& c) {
    std::vector<Edit> edits = {[](Case& x) { return no_backward(x) | no_inplace(x); }, no_backward, no_inplace};
    edits.emplace_back([](Case& x) { return std::exchange(x.grad_fill, kOnesFill) != kOnesFill; });
    for (const CaseTensor& tensor : c.tensors) {
        edits.emplace_back([name = tensor.name](Case& x) {
            CaseTensor* t = find_present(x, name);
            return t != nullptr && std::exchange(t->requires_grad, false);
        });
    }
    return edits;
}

std::vector<Edit> layout_edits(const Case&) {
    return {[](Case& c) {
                const bool any = c.layout != LayoutOptions();
                c.layout = {};
                return any;
            },
            [](Case& c) { return std::exchange(c.layout.wide, false); },
            [](Case& c) { return std::exchange(c.layout.strided, false); },
            [](Case& c) { return std::exchange(c.layout.host, false); },
            [](Case& c) { return std::exchange(c.layout.unaligned, false); },
            [](Case& c) { return std::exchange(c.layout.results, false); },
            [](Case& c) { return std::exchange(c.grad_repeats, Repeats::kNone) != Repeats::kNone; },
            [](Case& c) {
                bool any = false;
                for (CaseTensor& tensor : c.tensors) any |= !std::exchange(tensor.same_as, {}).empty();
                return any;
            },
            [](Case& c) {
                c.layout.nhwc_min_dim = LayoutOptions().nhwc_min_dim;
                return std::exchange(c.layout.nhwc, false);
            },
            [](Case& c) { return std::exchange(c.four_bytes, false); }};
}

bool make_row_major(CaseTensor& tensor) {
    bool any = std::exchange(tensor.no_contiguous, false);
    for (TensorSpec& spec : tensor.specs) any |= !std::exchange(spec.strides, {}).empty();
    return any;
}

std::vector<Edit> stride_edits(const Case& c) {
    std::vector<Edit> edits = {[](Case& x) {
        bool any = false;
        for (CaseTensor& tensor : x.tensors) any |= make_row_major(tensor);
        return any;
    }};
    for (const CaseTensor& tensor : c.tensors) {
        edits.emplace_back([name = tensor.name](Case& x) {
            CaseTensor* t = find_present(x, name);
            return t != nullptr && make_row_major(*t);
        });
    }
    return edits;
}

/// The functions of the case that take its arguments unchanged.
std::vector<const Row*> direct_rows(const Case& c) {
    std::vector<const Row*> found;
    const auto rows = rows_for(c);
    if (!rows.ok()) return found;
    for (const Row* row : {rows->forward, rows->inplace}) {
        if (row != nullptr) found.push_back(row);
    }
    return found;
}

bool is_optional(const Case& c, const CaseTensor& tensor) {
    const auto rows = direct_rows(c);
    return !rows.empty() && std::ranges::all_of(rows, [&](const Row* row) {
        const Arg* arg = arg_of(*row, tensor);
        return arg == nullptr || arg->optional;
    });
}

bool make_absent(CaseTensor& tensor) {
    if (!is_there(tensor)) return false;
    CaseTensor absent;
    absent.name = tensor.name;
    absent.list = tensor.list;
    absent.is_list = tensor.is_list;
    absent.absent = true;
    tensor = absent;
    return true;
}

bool remove_absent(Case& c, std::string_view name) {
    return std::erase_if(c.tensors, [&](const CaseTensor& t) { return t.name == name && t.absent; }) > 0;
}

std::vector<Edit> optional_edits(const Case& c) {
    std::vector<std::string> names;
    for (const CaseTensor& tensor : c.tensors) {
        if (is_there(tensor) && is_optional(c, tensor)) names.push_back(tensor.name);
    }
    const auto without = [](Case& x, const std::string& name) {
        CaseTensor* tensor = find_present(x, name);
        return tensor != nullptr && make_absent(*tensor);
    };
    std::vector<Edit> edits = {[names, without](Case& x) {
        bool any = false;
        for (const std::string& name : names) any |= without(x, name);
        return any;
    }};
    for (const std::string& name : names) {
        edits.emplace_back([name, without](Case& x) { return without(x, name); });
    }
    for (const CaseTensor& tensor : c.tensors) {
        edits.emplace_back([name = tensor.name](Case& x) { return remove_absent(x, name); });
    }
    return edits;
}

/// Removes `count` tensors from `first` on from a list that has more.
bool cut_list(Case& c, const std::string& name, size_t first, size_t count) {
    CaseTensor* tensor = find_present(c, name);
    if (tensor == nullptr || !tensor->is_list || count == 0) return false;
    if (first + count > tensor->specs.size() || count == tensor->specs.size()) return false;
    const auto from = tensor->specs.begin() + static_cast<std::ptrdiff_t>(first);
    tensor->specs.erase(from, from + static_cast<std::ptrdiff_t>(count));
    return true;
}

std::vector<Edit> list_edits(const Case& c) {
    std::vector<Edit> edits;
    for (const CaseTensor& tensor : c.tensors) {
        const size_t size = tensor.specs.size();
        for (size_t count = size / 2; tensor.is_list && count > 0; count /= 2) {
            for (size_t first = size; first >= count; first -= count) {
                edits.emplace_back(
                    [name = tensor.name, at = first - count, count](Case& x) { return cut_list(x, name, at, count); });
            }
        }
        if (tensor.list.empty()) continue;
        edits.emplace_back([name = tensor.name](Case& x) {
            return std::erase_if(x.tensors, [&](const CaseTensor& t) { return t.name == name; }) > 0;
        });
    }
    return edits;
}

/// Replaces numbers by `number` and true by false, also in lists; only towards 0.
bool simplify(Param& param, int64_t number) {
    if (auto* flag = std::get_if<bool>(&param.value)) return number == 0 && std::exchange(*flag, false);
    if (auto* whole = std::get_if<int64_t>(&param.value)) {
        if (*whole == 0 || *whole == number) return false;
        *whole = number;
        return true;
    }
    if (auto* real = std::get_if<double>(&param.value)) {
        if (*real == 0 || *real == static_cast<double>(number)) return false;
        *real = static_cast<double>(number);
        return true;
    }
    bool any = false;
    if (auto* list = std::get_if<std::vector<Param>>(&param.value)) {
        for (Param& item : *list) any |= simplify(item, number);
    }
    return any;
}

std::vector<Edit> param_edits(const Case& c) {
    std::vector<Edit> edits = {[](Case& x) { return !std::exchange(x.params, {}).empty(); }};
    for (const auto& entry : c.params) {
        edits.emplace_back([name = entry.first](Case& x) {
            return std::erase_if(x.params, [&](const auto& param) { return param.first == name; }) > 0;
        });
    }
    for (const auto& entry : c.params) {
        for (const int64_t number : {0, 1}) {
            edits.emplace_back([name = entry.first, number](Case& x) {
                const auto found = std::ranges::find(x.params, name, &std::pair<std::string, Param>::first);
                return found != x.params.end() && simplify(found->second, number);
            });
        }
    }
    return edits;
}

/// The more common dtypes first; any other is the least common.
constexpr std::array kCommon = {Dtype::float32, Dtype::float64,   Dtype::int64,
                                Dtype::int32,   Dtype::complex64, Dtype::boolean};

bool is_simpler(Dtype a, Dtype b) { return std::ranges::find(kCommon, a) < std::ranges::find(kCommon, b); }

/// An index stays an integer, and the parameters of a distribution or a norm stay real.
bool may_become(const Case& c, const CaseTensor& tensor, Dtype dtype) {
    const bool real = is_floating(dtype);
    return !has_meaning(c, tensor) ||
           (real == is_floating(tensor.specs.front().dtype) && !is_complex(dtype) && dtype != Dtype::boolean);
}

/// Changes tensors of dtype `from` (all of them, or the one with that name) to the dtype `to`.
bool change_dtype(Case& c, Dtype from, Dtype to, const std::string& only) {
    bool any = false;
    for (CaseTensor& tensor : c.tensors) {
        if (!is_there(tensor) || (!only.empty() && tensor.name != only)) continue;
        if (tensor.specs.front().dtype != from || !may_become(c, tensor, to)) continue;
        for (TensorSpec& spec : tensor.specs) spec.dtype = to;
        any = true;
    }
    return any;
}

std::vector<Edit> dtype_edits(const Case& c) {
    std::vector<Edit> edits;
    const auto replace = [&](Dtype from, const std::string& only) {
        for (const Dtype to : kCommon) {
            if (!is_simpler(to, from)) continue;
            edits.emplace_back([from, to, only](Case& x) { return change_dtype(x, from, to, only); });
        }
    };
    edits.emplace_back([](Case& x) {
        bool any = false;
        for (const Dtype from : all_dtypes()) {
            any |= from != Dtype::float32 && change_dtype(x, from, Dtype::float32, "");
        }
        return any;
    });
    for (const Dtype from : all_dtypes()) {
        if (c.uses(from)) replace(from, "");
    }
    for (const CaseTensor& tensor : c.tensors) {
        if (is_there(tensor)) replace(tensor.specs.front().dtype, tensor.name);
    }
    return edits;
}

constexpr std::array kReductions = {
    Reduction{"steps", step_edits},     Reduction{"dims", dim_edits},          Reduction{"layout", layout_edits},
    Reduction{"strides", stride_edits}, Reduction{"optional", optional_edits}, Reduction{"lists", list_edits},
    Reduction{"params", param_edits},   Reduction{"ranks", rank_edits},        Reduction{"dtypes", dtype_edits},
    Reduction{"fills", fill_edits},     Reduction{"values", value_edits},
};

}  // namespace

std::span<const Reduction> reductions() { return kReductions; }

bool has_meaning(const Case& c, const CaseTensor& tensor) {
    const bool is_marked = std::ranges::any_of(direct_rows(c), [&](const Row* row) {
        const Arg* arg = arg_of(*row, tensor);
        return arg != nullptr && arg->has_meaning;
    });
    if (is_marked || !is_ranged(tensor)) return is_marked;
    return std::ranges::any_of(c.tensors, [&](const CaseTensor& other) {
        return is_there(other) && (!is_ranged(other) || other.specs.front().dtype != tensor.specs.front().dtype);
    });
}

CaseTensor* find_present(Case& c, std::string_view name) {
    const auto found = std::ranges::find(c.tensors, name, &CaseTensor::name);
    return found == c.tensors.end() || !is_there(*found) ? nullptr : &*found;
}

}  // namespace diopi
