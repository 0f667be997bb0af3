#include "hard/draft.hpp"

#include <algorithm>
#include <array>

namespace diopi {

namespace {

/// The most elements of a tensor, unless one of its dims has more.
constexpr int64_t kMostElements = 140'000;
constexpr int64_t kLargestDim = 1'100'000;

/// Divides the sizes that the boundary is not, so that the tensor stays small.
Shape limited(Shape shape, size_t boundary) {
    for (size_t d = 0; d < shape.size(); ++d) {
        if (d != boundary && numel(shape) > kMostElements) shape[d] = 1;
    }
    return shape;
}

}  // namespace

Draft::Draft(const Row& row, Dtype dtype, const Combination& combination, const std::vector<int64_t>& sizes)
    : row_(&row), dtype_(dtype), combination_(combination), sizes_(sizes) {
    case_.op = row.op;
}

int64_t Draft::size(int64_t most) const {
    const int64_t chosen = sizes_[level(Factor::kSize)];
    return chosen <= most ? chosen : 1 + chosen % most;
}

Shape Draft::shape(size_t least_rank) const {
    const int64_t n = size(kLargestDim), side = size(130);
    Shape made;
    switch (level(Factor::kForm)) {
        case 0:
            made = {n};
            break;
        case 1:
            made = limited({5, n}, 1);
            break;
        case 2:
            made = limited({n, 3}, 0);
            break;
        case 3:
            made = {side, side};
            break;
        case 4:
            made = limited({3, n, 5}, 1);
            break;
        case 5:
            made = limited({2, 3, n, 7}, 2);
            break;
        case 6: {
            const Shape many[] = {{2, 1, 3, 1, 2, n}, {2, 2, 1, 3, 1, 2, n}, {2, 3, 1, 2, 1, 2, 1, n}};
            made = many[pattern() % std::size(many)];
            made = limited(made, made.size() - 1);
            break;
        }
        default:
            // 0-dim where the function takes that, else a single element.
            if (!row_->traits.zero_dim) made = {1};
            break;
    }
    while (made.size() < least_rank) made.insert(made.begin(), 2);
    const size_t last = made.size() - 1;
    return limited(std::move(made), last);
}

const Arg* Draft::arg_named(std::string_view arg) const {
    const int at = row_->find(arg);
    return at < 0 ? nullptr : &row_->args()[static_cast<size_t>(at)];
}

const Arg* Draft::arg_of(const CaseTensor& tensor) const {
    const std::string& word = tensor.list.empty() ? tensor.name : tensor.list;
    const auto found = std::ranges::find_if(row_->args(), [&](const Arg& arg) { return arg.answers_to(word); });
    return found == row_->args().end() ? nullptr : &*found;
}

bool Draft::is_left_out(const Arg& arg) const {
    if (!arg.optional) return false;
    size_t number = 0;  // among the arguments that may be absent
    for (const Arg& each : row_->args()) {
        if (&each == &arg) break;
        number += each.optional && !each.is_output ? 1 : 0;
    }
    // Level 0 leaves none out, level 1 all, the others one each.
    const size_t absent = level(Factor::kAbsent);
    return absent == 1 || (absent > 1 && absent - 2 == number);
}

Dtype Draft::other_dtype() const {
    /// The dtypes that stand beside each one, below and above it.
    struct Neighbours {
        Dtype own, below, above;
    };
    constexpr Neighbours kNeighbours[] = {
        {Dtype::boolean, Dtype::boolean, Dtype::int8},     {Dtype::uint8, Dtype::int8, Dtype::float16},
        {Dtype::int8, Dtype::boolean, Dtype::int32},       {Dtype::int16, Dtype::uint8, Dtype::int64},
        {Dtype::int32, Dtype::int8, Dtype::float32},       {Dtype::int64, Dtype::int32, Dtype::bfloat16},
        {Dtype::float16, Dtype::bfloat16, Dtype::float32}, {Dtype::bfloat16, Dtype::int64, Dtype::float32},
        {Dtype::float32, Dtype::bfloat16, Dtype::float32}, {Dtype::float64, Dtype::float16, Dtype::int64}};
    const size_t other = level(Factor::kOther);
    if (!promotes(row_->rule) || other == 0) return dtype_;
    const auto found = std::ranges::find(kNeighbours, dtype_, &Neighbours::own);
    if (found == std::end(kNeighbours)) return dtype_;
    const Dtype chosen = other == 1 ? found->below : found->above;
    const char letter = chosen == Dtype::boolean ? 'b' : is_floating(chosen) ? 'f' : 'i';
    return row_->takes.find(letter) == std::string_view::npos ? dtype_ : chosen;
}

void Draft::add(std::string_view arg, Shape shape) {
    const Arg* own = arg_named(arg);
    if (own == nullptr) return;
    const bool is_first = case_.tensors.empty();
    // Two whole numbers beside a floating tensor have no quotient that all frameworks define.
    const bool divides_others = own->is_divisor && case_.tensors.size() > 1;
    const bool is_own = is_first || own->influence != Influence::both || divides_others;
    const Dtype dtype = is_own ? dtype_ : other_dtype();
    add(arg, std::move(shape), dtype, FillSpec{});
}

void Draft::add(std::string_view arg, Shape shape, Dtype dtype, FillSpec fill) {
    const Arg* own = arg_named(arg);
    if (own == nullptr || !own->is_tensor()) return;
    CaseTensor& tensor = case_.tensors.emplace_back();
    tensor.name = own->alias.empty() ? own->name : own->alias;
    tensor.absent = is_left_out(*own);
    if (tensor.absent) return;
    tensor.specs = {{std::move(shape), dtype, {}}};
    tensor.fill = fill;
    tensor.requires_grad = is_floating(dtype) && !own->has_meaning;
}

void Draft::add_element(std::string_view list, std::optional<Shape> shape, Dtype dtype, FillSpec fill) {
    const auto number = std::ranges::count(case_.tensors, list, &CaseTensor::list);
    CaseTensor& tensor = case_.tensors.emplace_back();
    tensor.name = std::string(list) + std::to_string(number + 1);
    tensor.list = list;
    tensor.absent = !shape.has_value();
    if (tensor.absent) return;
    tensor.specs = {{std::move(*shape), dtype, {}}};
    tensor.fill = fill;
}

void Draft::add_list(std::string_view list, const std::vector<Shape>& shapes) {
    for (const Shape& shape : shapes) add_element(list, shape, dtype_, {});
}

}  // namespace diopi
