#include "step/placed_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "check/oracle.hpp"
#include "core/bytes.hpp"
#include "core/strided.hpp"

namespace diopi {

namespace {

/// From this size on a tensor with gaps is copied to save the memory of the gaps.
constexpr size_t kLargeStorage = size_t{64} << 20;

/// The tensor, with its gaps, in host memory of its own.
Result<Tensor> copied_to_host(const Tensor& tensor, Context& context) {
    const Storage& from = tensor.storage;
    auto bytes = cpu_device().allocate(from.nbytes);
    if (!bytes.ok()) return bytes.error();
    Device& device = from.device == diopi_host ? cpu_device() : *context.device;
    Status s = device.copy_to_host(context.stream, bytes->get(), from.memory.get(), from.nbytes);
    if (s.ok()) s = device.synchronize(context.stream);
    if (!s.ok()) return s.error();
    Tensor copy = tensor;
    copy.storage = {std::move(*bytes), from.nbytes, diopi_host};
    return copy;
}

/// The tensor, with its gaps, in memory that the host can read: copied only if needed.
Result<Tensor> on_host(const Tensor& tensor, Context& context) {
    return tensor.storage.device == diopi_host ? tensor : copied_to_host(tensor, context);
}

/// Those of the storage.
std::span<const uint8_t> bytes_of(const Tensor& host) {
    return {static_cast<const uint8_t*>(host.storage.memory.get()), host.storage.nbytes};
}

/// Bytes between the elements that are no longer what they were. `before` gets the elements of `now`.
int64_t stray_bytes(const Tensor& now, const Tensor& before) {
    copy_strided(now, before);
    return count_different(bytes_of(now), bytes_of(before));
}

/// Bytes between the elements that differ from the pattern: all such bytes, less those of the elements, which do not
/// overlap.
int64_t stray_bytes(const Tensor& host, int pattern) {
    const Tensor elements = gathered(host);
    return count_others(bytes_of(host), pattern) -
           count_others({elements.data_as<uint8_t>(), elements.nbytes()}, pattern);
}

Failure stray_write(int64_t bytes, std::string_view name, const Tensor& tensor) {
    return {FailureKind::kStrayWrite, fmt::format("wrote {} bytes between the elements of {}: it has strides {}", bytes,
                                                  name, to_string(tensor.strides))};
}

}  // namespace

Result<PlacedCall> PlacedCall::create(const Step& step, Placement& placement, Poison poison) {
    PlacedCall placed(step.call, poison);
    if (Status s = placed.place_inputs(placement); !s.ok()) return s.error();
    if (Status s = placed.place_outputs(step, placement); !s.ok()) return s.error();
    return placed;
}

Result<TensorPtr> PlacedCall::placed(const TensorPtr& tensor, const Place& place, Placement& placement) {
    if (tensor == nullptr) return tensor;
    if (place.arg.is_inout) {
        const bool is_drawn = call_.row->draws_into(place.arg.name);
        auto made = is_drawn ? placement.output({tensor->shape, tensor->dtype, tensor->strides}, place, poison_)
                             : placement.inout(*tensor, place);
        if (!made.ok()) return made;
        inouts_.emplace_back(tensor, *made);
        Status s = note_gaps(*made, place.name(), placement.context());
        return s.ok() ? made : s.error();
    }
    // One object for an argument that is written and one that is read, as in x += x.
    const auto same = std::ranges::find(inouts_, tensor, [](const auto& each) { return each.first; });
    if (same != inouts_.end()) return same->second;
    inputs_.push_back(tensor);
    return placement.input(tensor, place);
}

Status PlacedCall::place_inputs(Placement& placement) {
    const auto args = call_.row->args();
    for (size_t i = 0; i < args.size(); ++i) {
        if (args[i].is_output) continue;
        if (auto* tensor = std::get_if<TensorPtr>(&call_.args[i])) {
            auto made = placed(*tensor, {args[i]}, placement);
            if (!made.ok()) return made.error();
            *tensor = *made;
        } else if (auto* list = std::get_if<TensorList>(&call_.args[i])) {
            for (size_t k = 0; k < list->size(); ++k) {
                auto made = placed((*list)[k], {args[i], static_cast<int64_t>(k)}, placement);
                if (!made.ok()) return made.error();
                (*list)[k] = *made;
            }
        }
        for_each_generator(call_.args[i], [&](diopiGeneratorHandle_t& handle) {
            handle = generators_.emplace_back(std::make_unique<Generator>(*handle)).get();
        });
    }
    return {};
}

Status PlacedCall::place_outputs(const Step& step, Placement& placement) {
    for (const OutputSpec& output : step.outputs) {
        const Arg& arg = call_.row->args()[output.arg];
        if (arg.is_made) {
            call_.set_tensor(output.place(), nullptr);
            continue;
        }
        auto made = placement.output(output.spec, {arg, static_cast<int64_t>(output.position)}, poison_);
        if (!made.ok()) return made.error();
        if ((*made)->shape != output.spec.shape) reshaped_.emplace_back(output.place(), output.spec.shape);
        call_.set_tensor(output.place(), *made);
        outputs_.push_back(output.place());
    }
    return {};
}

Result<TensorPtr> PlacedCall::host_tensor(ArgPlace place, Context& context) {
    if (const auto number = given_number(call_, place.arg)) return std::make_shared<Tensor>(*number);
    const TensorPtr tensor = call_.tensor_at(place);
    if (tensor == nullptr) return failed(call_.name_of(place) + " is a tensor that the call did not make");
    const bool is_host = tensor->storage.device == diopi_host;
    auto host = is_host ? Result<TensorPtr>(tensor) : to_host(*context.device, context.stream, *tensor);
    const auto reshaped = std::ranges::find(reshaped_, place, [](const auto& each) { return each.first; });
    if (!host.ok() || reshaped == reshaped_.end()) return host;
    auto result = std::make_shared<Tensor>(**host);
    result->shape = reshaped->second;
    result->strides = contiguous_strides(result->shape);
    return result;
}

void PlacedCall::drop_opaque() {
    for (size_t i = 0; i < call_.args.size(); ++i) {
        const Arg& arg = call_.row->args()[i];
        if (arg.is_made && arg.is_opaque) call_.set_tensor(ArgPlace(i), nullptr);
    }
}

Status PlacedCall::note_gaps(const TensorPtr& tensor, std::string name, Context& context) {
    if (tensor->is_sparse() || !has_gaps(*tensor) || tensor->storage.nbytes > kLargeStorage) return {};
    auto before = copied_to_host(*tensor, context);
    if (!before.ok()) return before.status();
    gaps_.push_back({tensor, std::move(name), std::move(*before)});
    return {};
}

Failure PlacedCall::check_inputs(Placement& placement) {
    for (const TensorPtr& input : inputs_) {
        Failure failure = placement.check_input(input);
        if (failure.ok()) continue;
        if (failure.kind == FailureKind::kInputModified) {
            failure.reason += ": it is const in " + std::string(call_.row->function);
        }
        return failure;
    }
    return {};
}

Failure PlacedCall::check_gaps(Context& context) {
    for (const ArgPlace& place : outputs_) {
        const Tensor& tensor = *call_.tensor_at(place);
        if (!has_gaps(tensor)) continue;
        const auto now = on_host(tensor, context);
        if (!now.ok()) return failure_of(now.error());
        const int64_t stray = stray_bytes(*now, poison_byte(tensor.dtype, poison_));
        if (stray == 0) continue;
        return stray_write(stray, call_.name_of(place), tensor);
    }
    for (const Gaps& gaps : gaps_) {
        const auto now = on_host(*gaps.tensor, context);
        if (!now.ok()) return failure_of(now.error());
        const int64_t stray = stray_bytes(*now, gaps.before);
        if (stray > 0) return stray_write(stray, gaps.name, *gaps.tensor);
    }
    return {};
}

namespace {

Failure wrote_to(std::string_view name) {
    return {FailureKind::kStrayWrite, fmt::format("returned an error, but wrote to {}", name)};
}

}  // namespace

Failure PlacedCall::check_untouched(Context& context) {
    for (const ArgPlace& place : outputs_) {
        const Tensor& tensor = *call_.tensor_at(place);
        const auto now = on_host(tensor, context);
        if (!now.ok()) return failure_of(now.error());
        if (count_others(bytes_of(*now), poison_byte(tensor.dtype, poison_)) > 0) return wrote_to(call_.name_of(place));
    }
    return check_inouts(context);
}

Failure PlacedCall::check_inouts(Context& context) {
    for (const auto& [host, copy] : inouts_) {
        auto before = to_host(cpu_device(), nullptr, *host);
        auto now = to_host(*context.device, context.stream, *copy);
        if (!before.ok() || !now.ok()) return failure_of((before.ok() ? now : before).error());
        const bool is_same =
            std::memcmp((*before)->data_as<std::byte>(), (*now)->data_as<std::byte>(), (*before)->nbytes()) == 0;
        if (!is_same) return wrote_to("an argument that it works on in place");
    }
    return {};
}

Status PlacedCall::remove_gaps(Context& context) {
    for (const ArgPlace& place : outputs_) {
        const TensorPtr tensor = call_.tensor_at(place);
        // A gap of one element behind each but the last makes the storage less than twice the elements.
        const bool has_gaps = tensor->storage.nbytes / 3 >= tensor->nbytes() / 2;
        if (!has_gaps || tensor->storage.nbytes < kLargeStorage) continue;
        auto dense = to_host(*context.device, context.stream, *tensor);
        if (!dense.ok()) return dense.status();
        call_.set_tensor(place, std::move(*dense));
    }
    return {};
}

Status take_opaque(Step& step, const Chain& chain, Placement& placement) {
    if (step.maker == nullptr) return {};
    Context& context = placement.context();
    auto placed = PlacedCall::create(*step.maker, placement, Poison::kFirst);
    if (!placed.ok()) return placed.status();
    Call& forward = placed->call();
    const Outcome outcome = chain.run(forward, context);
    Status finished = context.device->synchronize(context.stream);
    if (!finished.ok() || outcome.is_declined()) return finished;
    if (!outcome.ok()) return failed(fmt::format("{}: {}", forward.row->function, outcome.message));
    std::vector<ArgTensor> made;
    for (size_t i = 0; i < forward.args.size(); ++i) {
        const TensorPtr tensor = forward.row->args()[i].is_opaque ? forward.tensor_at(ArgPlace(i)) : nullptr;
        if (tensor == nullptr) continue;
        auto host = to_host(*context.device, context.stream, *tensor);
        if (!host.ok()) return host.status();
        made.push_back({i, std::move(*host)});
    }
    context.release();
    for (const ArgTensor& own : opaque_for(*step.call.row, *forward.row, made)) {
        step.call.set_tensor(own.place(), own.tensor);
    }
    return {};
}

}  // namespace diopi
