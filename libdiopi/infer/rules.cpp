#include "infer/rules.hpp"

#include <array>

namespace diopi::infer_rules {

Error contradiction(const Call& call, const std::string& what) {
    return bad_input(std::string(call.row->function) + ": " + what);
}

std::vector<OutputSpec> one(const Call& call, std::string_view arg, TensorSpec spec) {
    return {{static_cast<size_t>(call.row->find(arg)), std::move(spec)}};
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
