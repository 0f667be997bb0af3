#include "intercept/dump.hpp"

#include <fmt/format.h>

#include "call/call_name.hpp"
#include "call/tensors.hpp"
#include "intercept/tensor_text.hpp"

namespace diopi {

namespace {

/// The number of elements of a tensor at level 3.
constexpr int64_t kMostValues = 16;

}  // namespace

Outcome Dump::around(Call& call, Context& context, const Next& next) {
    print_(fmt::format("[dump {}] {} ({})", number_++, name_of(call), call.row->function));
    if (level_ >= DumpLevel::kArguments) print_arguments(call, context, false);
    Outcome outcome = next(call, context);
    if (!outcome.ok()) {
        print_("    error: " + outcome.message);
    } else if (level_ >= DumpLevel::kArguments) {
        print_arguments(call, context, true);
    }
    return outcome;
}

void Dump::print_arguments(const Call& call, Context& context, bool after) {
    for (size_t i = 0; i < call.args.size(); ++i) {
        const Arg& arg = call.row->args()[i];
        const bool written = arg.is_output || arg.is_inout;
        if (after ? !written : arg.is_output) continue;
        print_(fmt::format("    {} {}: {}", after ? "out" : "in ", arg.name, argument_text(call.args[i])));
    }
    if (level_ < DumpLevel::kValues) return;
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        if (!(after ? place.is_written() : place.is_read())) return;
        const auto host = to_host(*context.device, context.stream, *tensor);
        const std::string values = host.ok() ? values_text(**host, kMostValues) : host.error().message;
        print_(fmt::format("        {} = {}", place.name(), values));
    });
}

}  // namespace diopi
