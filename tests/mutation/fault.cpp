#include "fault.hpp"

#include <algorithm>
#include <vector>

namespace diopi::mutation {

std::span<const Fault> faults() {
    static const std::vector<Fault> all = [] {
        std::vector<Fault> list;
        for (const auto part : {value_faults(), rounding_faults(), operand_faults(), layout_faults(), memory_faults(),
                                process_faults(), random_faults(), attention_faults(), token_faults()}) {
            list.insert(list.end(), part.begin(), part.end());
        }
        return list;
    }();
    return all;
}

const Fault* find_fault(std::string_view name) {
    const auto found = std::ranges::find_if(faults(), [&](const Fault& f) { return f.name == name || f.code == name; });
    return found == faults().end() ? nullptr : &*found;
}

bool has_right_values(const Row& row) { return row.accuracy != AccuracyClass::F; }

bool has_outputs(const Row& row) {
    return std::ranges::any_of(row.args(), [](const Arg& arg) { return arg.is_output; });
}

bool has_inouts(const Row& row) {
    return std::ranges::any_of(row.args(), [](const Arg& arg) { return arg.is_inout; });
}

Outcome Faulty::around(Call& call, Context& context, const Next& next) {
    if (call.row != row_) return next(call, context);
    Scene scene(call, context, next, calls_++);
    scene.run_right();
    if (fault_ == nullptr || (!scene.outcome().ok() && fault_->acting != Acting::on_error)) return scene.outcome();
    fault_->act(scene);
    planted_ = planted_ || scene.changed();
    if (!planted_ && fault_->acting != Acting::later) return {diopiNoImplement, "the fault makes no difference"};
    return scene.outcome();
}

}  // namespace diopi::mutation
