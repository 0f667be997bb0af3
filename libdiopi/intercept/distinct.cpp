#include "intercept/distinct.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "intercept/element_order.hpp"

namespace diopi {

namespace {

/// The slices of a tensor along the dim of the call; its elements where the call names none.
class Slices {
 public:
    Slices(const Call& call, const Tensor& tensor) : elements_(tensor), n_(tensor.numel()) {
        const auto* named = std::get_if<int64_t>(&call["dim"]);
        const auto dim = named == nullptr ? std::nullopt : wrap_dim(*named, tensor.rank());
        if (!dim || tensor.shape.empty()) return;
        const ShapeView shape = tensor.shape;
        n_ = shape[static_cast<size_t>(*dim)];
        inner_ = numel(shape.subspan(static_cast<size_t>(*dim) + 1));
        length_ = numel(shape.first(static_cast<size_t>(*dim))) * inner_;
    }

    [[nodiscard]] int64_t count() const { return n_; }
    [[nodiscard]] int64_t length() const { return length_; }
    /// Position of element i of a slice.
    [[nodiscard]] int64_t place(int64_t slice, int64_t i) const {
        return (i / inner_ * n_ + slice) * inner_ + i % inner_;
    }
    /// -1, 0 or 1: the order of two slices of one length. NaN is equal to NaN.
    [[nodiscard]] int order(int64_t a, const Slices& other, int64_t b) const {
        for (int64_t i = 0; i < length_; ++i) {
            if (elements_.before(place(a, i), other.elements_, other.place(b, i))) return -1;
            if (other.elements_.before(other.place(b, i), elements_, place(a, i))) return 1;
        }
        return 0;
    }
    /// The numbers of the slices in rising order.
    [[nodiscard]] std::vector<int64_t> sorted() const {
        std::vector<int64_t> order_of(static_cast<size_t>(n_));
        std::iota(order_of.begin(), order_of.end(), 0);
        std::ranges::stable_sort(order_of, [&](int64_t a, int64_t b) { return order(a, *this, b) < 0; });
        return order_of;
    }

 private:
    Elements elements_;
    int64_t n_, inner_ = 1, length_ = 1;
};

Result<TensorPtr> sorted_slices(const Call& call, const Tensor& tensor) {
    const Tensor dense = gathered(tensor);
    const Slices slices(call, dense);
    auto made = make_tensor(cpu_device(), {tensor.shape, tensor.dtype, {}});
    if (!made.ok()) return made;
    const auto size = static_cast<int64_t>(size_of(tensor.dtype));
    const std::vector<int64_t> order = slices.sorted();
    for (int64_t k = 0; k < slices.count(); ++k) {
        for (int64_t i = 0; i < slices.length(); ++i) {
            const char* from = dense.data_as<char>() + slices.place(order[static_cast<size_t>(k)], i) * size;
            std::copy_n(from, size, (*made)->data_as<char>() + slices.place(k, i) * size);
        }
    }
    return made;
}

/// The tensor with other whole numbers: change(numbers) changes a copy of them in int64.
template <class Change>
Result<TensorPtr> changed(const Tensor& tensor, const Change& change) {
    auto wide = in_int64(tensor);
    if (!wide.ok()) return wide;
    change(std::span((*wide)->data_as<int64_t>(), static_cast<size_t>(tensor.numel())));
    auto made = make_tensor(cpu_device(), {tensor.shape, tensor.dtype, {}});
    if (made.ok()) narrow(**wide, **made);
    return made;
}

/// Counts positions in the order in which they occur first.
void renumber(std::span<int64_t> positions) {
    std::unordered_map<int64_t, int64_t> seen;
    for (int64_t& position : positions) position = seen.emplace(position, std::ssize(seen)).first->second;
}

bool is_sorted(const Call& call) { return call.flag("sorted"); }

/// A position that names no slice, or another one than that of the input; empty if there is none. Adds up the numbers
/// of slices in `found`.
std::string wrong_position(const Slices& input, const Slices& out, std::span<const int64_t> positions,
                           std::vector<int64_t>& found) {
    for (int64_t k = 0; k < input.count(); ++k) {
        const int64_t position = positions[static_cast<size_t>(k)];
        const bool is_there = position >= 0 && position < out.count();
        if (!is_there || input.order(k, out, position) != 0) {
            return "indices: element " + std::to_string(k) + " of the input is not at its position " +
                   std::to_string(position);
        }
        ++found[static_cast<size_t>(position)];
    }
    return {};
}

/// Adds up in `found`, at the first of equal slices of out, how many slices of the input are equal to them.
void count_slices(const Slices& input, const Slices& out, std::span<const int64_t> order, std::vector<int64_t>& found) {
    for (int64_t k = 0; k < input.count(); ++k) {
        const auto at = std::ranges::lower_bound(order, 0, {}, [&](int64_t j) { return out.order(j, input, k); });
        if (at != order.end()) ++found[static_cast<size_t>(*at)];
    }
}

}  // namespace

bool is_open_distinct(const Call& call, size_t arg) {
    return call.row->args()[arg].is_output && (!is_sorted(call) || call.row->args()[arg].name == "indices");
}

Status settle_distinct(const Call& call, size_t arg, TensorPtr& actual, TensorPtr& expected) {
    const std::string_view name = call.row->args()[arg].name;
    for (TensorPtr* tensor : {&actual, &expected}) {
        if (name != "out" && !is_integer((*tensor)->dtype)) continue;
        auto settled = name == "out"       ? sorted_slices(call, **tensor)
                       : name == "indices" ? changed(**tensor, renumber)
                                           : changed(**tensor, [](std::span<int64_t> x) { std::ranges::sort(x); });
        if (!settled.ok()) return settled.status();
        *tensor = *settled;
    }
    return {};
}

std::string wrong_distinct(const Call& call, const Tensor& out, const Tensor* indices, const Tensor* counts) {
    const Tensor& given = *call.tensor("input");
    const Slices input(call, given), slices(call, out);
    if (out.dtype != given.dtype || input.length() != slices.length()) return {};
    std::vector<int64_t> found(static_cast<size_t>(slices.count()));
    if (indices != nullptr && (!is_integer(indices->dtype) || indices->numel() != input.count())) return {};
    if (indices != nullptr) {
        const auto positions = in_int64(*indices);
        if (!positions.ok()) return positions.error().message;
        const std::span<const int64_t> each((*positions)->data_as<int64_t>(), static_cast<size_t>(input.count()));
        std::string wrong = wrong_position(input, slices, each, found);
        if (!wrong.empty()) return wrong;
    }
    if (counts == nullptr || !is_integer(counts->dtype) || counts->numel() != slices.count()) return {};
    const auto numbers = in_int64(*counts);
    if (!numbers.ok()) return numbers.error().message;
    const std::vector<int64_t> order = slices.sorted();
    if (indices == nullptr) count_slices(input, slices, order, found);
    // NaNs are equal here: their numbers are added up.
    for (size_t first = 0, end = 0; first < order.size(); first = end) {
        int64_t has = 0, wanted = 0;
        for (; end < order.size() && slices.order(order[first], slices, order[end]) == 0; ++end) {
            has += (*numbers)->data_as<int64_t>()[order[end]];
            wanted += found[static_cast<size_t>(order[end])];
        }
        if (has == wanted) continue;
        return "counts: element " + std::to_string(order[first]) + " occurs " + std::to_string(wanted) +
               " times, not " + std::to_string(has);
    }
    return {};
}

}  // namespace diopi
