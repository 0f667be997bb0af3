#include <algorithm>
#include <cstring>
#include <span>

#include "core/format.hpp"
#include "core/strided.hpp"
#include "infer/rules.hpp"

namespace diopi::infer_rules {

/// Values have the input's dtype, places are int64; both have size k along dim where the function takes k. Source:
/// torch.sort, torch.topk.
Specs ordered(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const int64_t dim = call.integer("dim", -1);
    const std::optional<int64_t> at = wrap_dim(dim, input.rank());
    if (!at) {
        return contradiction(call,
                             "dim " + std::to_string(dim) + " is out of range for input " + to_string(input.shape));
    }
    Shape shape = input.shape;
    if (call.has("k")) {
        const int64_t k = call.integer("k"), n = shape.empty() ? 1 : shape[static_cast<size_t>(*at)];
        if (k < 0 || k > n) {
            return contradiction(call, "k " + std::to_string(k) + " is not between 0 and " + std::to_string(n) +
                                           ", the size of input " + to_string(input.shape) + " along dim");
        }
        if (!shape.empty()) shape[static_cast<size_t>(*at)] = k;
    }
    std::vector<OutputSpec> specs;
    const auto args = call.row->args();
    for (size_t i = 0; i < args.size(); ++i) {
        if (!args[i].is_output) continue;
        specs.push_back({i, {shape, args[i].place_in >= 0 ? Dtype::int64 : input.dtype, {}}});
    }
    return specs;
}

/// Sums of integers and bool are int64. Source: torch.cumsum.
Specs cumulative(Call& call, const ResultHints& hints) {
    const Tensor& input = *call.tensor("input");
    const int64_t dim = call.integer("dim");
    if (!wrap_dim(dim, input.rank())) {
        return contradiction(call,
                             "dim " + std::to_string(dim) + " is out of range for input " + to_string(input.shape));
    }
    const bool whole = is_integer(input.dtype) || input.dtype == Dtype::boolean;
    return one(call, "out", {input.shape, hints.dtype.value_or(whole ? Dtype::int64 : input.dtype), {}});
}

namespace {

/// The elements of the slices along a dim, one slice after the other, as bits that are equal where the elements are.
class Slices {
 public:
    Slices(const Tensor& tensor, std::optional<size_t> dim) {
        Shape shape = tensor.shape, strides = tensor.strides;
        if (dim) {
            const auto first = static_cast<std::ptrdiff_t>(*dim);
            std::rotate(shape.begin(), shape.begin() + first, shape.begin() + first + 1);
            std::rotate(strides.begin(), strides.begin() + first, strides.begin() + first + 1);
        }
        count_ = dim ? shape[0] : tensor.numel();
        length_ = count_ == 0 ? 0 : tensor.numel() / count_;
        const size_t size = size_of(tensor.dtype);
        const bool is_real = is_floating(tensor.dtype);
        const uint64_t magnitude = ~uint64_t{0} >> (is_real ? 65 - 8 * size : 0);
        const uint64_t infinity = magnitude >> (format_of(tensor.dtype).significand - 1)
                                                   << (format_of(tensor.dtype).significand - 1);
        for_each_offset(shape, strides, [&](int64_t offset) {
            uint64_t bits = 0;
            std::memcpy(&bits, tensor.data_as<std::byte>() + offset * static_cast<int64_t>(size), size);
            if (is_real && (bits & magnitude) == 0) bits = 0;
            has_nan_.push_back(is_real && (bits & magnitude) > infinity);
            elements_.push_back(bits);
        });
    }

    /// NaN differs from itself.
    [[nodiscard]] int64_t distinct() const {
        int64_t found = 0;
        std::vector<int64_t> order;
        for (int64_t i = 0; i < count_; ++i) {
            const auto begin = has_nan_.begin() + i * length_;
            if (std::find(begin, begin + length_, true) != begin + length_)
                ++found;
            else
                order.push_back(i);
        }
        const auto slice = [&](int64_t i) {
            return std::span(elements_).subspan(static_cast<size_t>(i * length_), static_cast<size_t>(length_));
        };
        std::ranges::sort(
            order, [&](int64_t a, int64_t b) { return std::ranges::lexicographical_compare(slice(a), slice(b)); });
        for (size_t i = 0; i < order.size(); ++i) {
            found += i == 0 || !std::ranges::equal(slice(order[i]), slice(order[i - 1])) ? 1 : 0;
        }
        return found;
    }

 private:
    int64_t count_ = 0, length_ = 0;
    std::vector<uint64_t> elements_;
    std::vector<bool> has_nan_;
};

}  // namespace

/// The distinct elements, or the distinct slices along dim. Where the values are not at hand, all are distinct. Source:
/// torch.unique.
Specs unique(Call& call, const ResultHints& hints) {
    const Tensor& input = *call.tensor("input");
    const auto* named = std::get_if<int64_t>(&call["dim"]);
    std::optional<size_t> dim;
    int64_t count = input.numel();
    if (is_complex(input.dtype)) return contradiction(call, "complex numbers have no order");
    if (named != nullptr) {
        if (input.rank() == 0) return contradiction(call, "a single element has no dim");
        const auto at = position_of_dim(call, *named, input.rank());
        if (!at.ok()) return at.error();
        dim = *at;
        count = input.shape[*at];
        if (std::ranges::count(input.shape, 0) > (count == 0 ? 1 : 0)) {
            return contradiction(call, "input " + to_string(input.shape) + " has slices without elements");
        }
    }
    const bool is_known = input.data() != nullptr && input.storage.device == diopi_host;
    const int64_t distinct = is_known ? Slices(input, dim).distinct() : count;
    Shape shape = {distinct};
    if (dim) {
        shape = input.shape;
        shape[*dim] = distinct;
    }
    std::vector<OutputSpec> specs = one(call, "out", {std::move(shape), input.dtype, {}});
    const auto add = [&](std::string_view arg, Shape of) {
        specs.push_back({static_cast<size_t>(call.row->find(arg)), {std::move(of), Dtype::int64, {}}});
    };
    if (!hints.no_inverse) add("indices", dim ? Shape{count} : input.shape);
    if (call.flag("return_counts")) add("counts", {distinct});
    return specs;
}

}  // namespace diopi::infer_rules
