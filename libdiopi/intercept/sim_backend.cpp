#include "intercept/sim_backend.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "call/tensors.hpp"
#include "core/stopwatch.hpp"

namespace diopi {

namespace {

/// The first tensor of the call with another dtype than these.
const Tensor* foreign_tensor(const Call& call, const std::vector<Dtype>& dtypes) {
    const Tensor* found = nullptr;
    for_each_tensor(call, [&](const Place&, const TensorPtr& tensor) {
        if (found == nullptr && std::ranges::find(dtypes, tensor->dtype) == dtypes.end()) found = tensor.get();
    });
    return found;
}

}  // namespace

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

Outcome SimBackend::around(Call& call, Context& context, const Next& next) {
    const Tensor* foreign = options_.dtypes.empty() ? nullptr : foreign_tensor(call, options_.dtypes);
    if (foreign != nullptr) {
        return {diopiDtypeNotSupported, fmt::format("{} does not support {}", device_.name(), name(foreign->dtype))};
    }
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
