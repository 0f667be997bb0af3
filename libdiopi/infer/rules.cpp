#include "infer/rules.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/format.hpp"
#include "core/strided.hpp"

namespace diopi::infer_rules {

Error contradiction(const Call& call, const std::string& what) {
    return bad_input(std::string(call.row->function) + ": " + what);
}

std::vector<OutputSpec> one(const Call& call, std::string_view arg, TensorSpec spec) {
    return {{static_cast<size_t>(call.row->find(arg)), std::move(spec)}};
}

std::vector<OutputSpec> written(const Call& call, TensorSpec spec) {
    if (call.row->variant == Variant::inplace) return {};
    return one(call, call.row->args().front().name, std::move(spec));
}

Result<size_t> position_of_dim(const Call& call, int64_t dim, int64_t rank) {
    const std::optional<int64_t> wrapped = wrap_dim(dim, rank);
    if (wrapped) return static_cast<size_t>(*wrapped);
    return contradiction(call,
                         "dim " + std::to_string(dim) + " is out of range for " + std::to_string(rank) + " dimensions");
}

std::optional<std::string> wrong_shape(const Call& call, std::initializer_list<const char*> arguments,
                                       const std::string& what, const Shape& wanted) {
    for (const char* arg : arguments) {
        const Tensor* tensor = call.tensor(arg);
        if (tensor == nullptr || tensor->shape == wanted) continue;
        return std::string(arg) + " " + to_string(tensor->shape) + " must have " + what + " " + to_string(wanted);
    }
    return std::nullopt;
}

Dtype sum_dtype(Dtype dtype) { return is_half(dtype) ? Dtype::float32 : dtype; }

Result<Shape> leading_shape(const Call& call) {
    const Shape& input = call.tensor("input")->shape;
    const IntList& normalized = *call.ints("normalized_shape");
    const bool fits = !normalized.empty() && normalized.size() <= input.size();
    if (!fits || !std::ranges::equal(ShapeView(input).last(normalized.size()), normalized)) {
        return contradiction(
            call, "input " + to_string(input) + " does not end in normalized_shape " + to_string(normalized));
    }
    const auto wrong = wrong_shape(call, {"weight", "bias"}, "normalized_shape", normalized);
    if (wrong) return contradiction(call, *wrong);
    return Shape(input.begin(), input.end() - static_cast<std::ptrdiff_t>(normalized.size()));
}

std::optional<int64_t> count_true(const Tensor& tensor) {
    if (tensor.numel() == 0) return 0;
    if (tensor.data() == nullptr || tensor.storage.device != diopi_host) return std::nullopt;
    if (tensor.dtype == Dtype::boolean && tensor.is_contiguous()) {
        const auto* bytes = tensor.data_as<uint8_t>();
        return std::count_if(bytes, bytes + tensor.numel(), [](uint8_t byte) { return byte != 0; });
    }
    const size_t size = size_of(tensor.dtype), part = size_of(component_of(tensor.dtype));
    const bool has_sign = is_floating(component_of(tensor.dtype));  // -0 is 0
    const uint64_t mask = ~uint64_t{0} >> (has_sign ? 65 - 8 * part : 0);
    int64_t count = 0;
    for_each_offset(tensor.shape, tensor.strides, [&](int64_t offset) {
        const auto* element = tensor.data_as<std::byte>() + offset * static_cast<int64_t>(size);
        bool is_true = false;
        for (size_t at = 0; at < size; at += part) {
            uint64_t bits = 0;
            std::memcpy(&bits, element + at, part);
            is_true |= (bits & mask) != 0;
        }
        count += is_true ? 1 : 0;
    });
    return count;
}

int64_t window_count(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, int64_t surplus) {
    int64_t reach = 0, room = 0;
    bool beyond = __builtin_mul_overflow(dilation, kernel - 1, &reach);
    beyond |= __builtin_add_overflow(reach, 1, &reach);
    beyond |= __builtin_mul_overflow(2, padding, &room);
    beyond |= __builtin_add_overflow(room, size, &room);
    beyond |= __builtin_add_overflow(room, surplus, &room);
    beyond |= __builtin_sub_overflow(room, reach, &room);
    return beyond || room < 0 || room == INT64_MAX ? 0 : room / stride + 1;
}

Status spread(Call& call, std::string_view arg, size_t rank) {
    auto& list = std::get<IntList>(call[arg]);
    if (list.size() == 1) list.resize(rank, list[0]);
    if (list.size() == rank) return {};
    return contradiction(call, std::string(arg) + " has " + std::to_string(list.size()) + " numbers where 1 or " +
                                   std::to_string(rank) + " are wanted");
}

Factors factors_of(const Call& call) {
    std::array<const Tensor*, 2> last{};
    for (size_t i = 0; i < call.args.size(); ++i) {
        const Arg& arg = call.row->args()[i];
        if (arg.kind == ArgKind::const_tensor) last = {last[1], call.tensor(arg.name)};
    }
    return {*last[0], *last[1]};
}

}  // namespace diopi::infer_rules
