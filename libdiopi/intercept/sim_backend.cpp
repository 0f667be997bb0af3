#include "intercept/sim_backend.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "call/tensors.hpp"
#include "core/stopwatch.hpp"

namespace diopi {

SimBackend::SimBackend(SimOptions options)
    : options_(std::move(options)),
      device_(options_.model),
      table_(supported()),
      backend_(device_.name(), device_, table_) {}

std::vector<AnyFunction> SimBackend::supported() {
    const Backend& cpu = **find_backend("cpu");
    std::vector<AnyFunction> table;
    for (const Row& row : rows()) {
        const Call call(row);
        const bool listed = !options_.operators || options_.operators->matches(call);
        const bool excluded = options_.except && options_.except->matches(call);
        table.push_back(listed && !excluded ? cpu.function(row) : nullptr);
    }
    return table;
}

Outcome SimBackend::check(const Call& call) const {
    Outcome refused;
    if ((options_.dtypes.empty() && !options_.contiguous) || (options_.converts && call.row->traits.converts)) {
        return refused;
    }
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        if (!refused.ok() || place.arg.is_opaque) return;
        const bool has_dtype =
            options_.dtypes.empty() || std::ranges::find(options_.dtypes, tensor->dtype) != options_.dtypes.end();
        if (!has_dtype) {
            refused = {diopiDtypeNotSupported,
                       fmt::format("{} does not support {}", device_.name(), name(tensor->dtype))};
        } else if (options_.contiguous && !tensor->is_contiguous()) {
            refused = {diopiNoImplement,
                       fmt::format("{} takes contiguous tensors, and {} has strides {} for shape {}", device_.name(),
                                   place.name(), to_string(tensor->strides), to_string(tensor->shape))};
        }
    });
    return refused;
}

Outcome SimBackend::around(Call& call, Context& context, const Next& next) {
    if (Outcome refused = check(call); !refused.ok()) return refused;
    const Stopwatch watch;
    Outcome outcome = next(call, context);
    if (!outcome.is_declined()) device_.add_kernel(watch.seconds());
    return outcome;
}

std::vector<std::string> SimBackend::unknown_names() const {
    std::vector<std::string> names;
    for (const auto& list : {&options_.operators, &options_.except}) {
        if (!*list) continue;
        for (std::string& name : (*list)->unmatched()) names.push_back(std::move(name));
    }
    return names;
}

}  // namespace diopi
