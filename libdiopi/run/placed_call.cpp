#include "run/placed_call.hpp"

#include <cstring>

#include "store/checksum.hpp"

namespace diopi {

namespace {

/// What an output holds before the call, so that an element that was never written shows: NaN, and 0xA5 in integers.
constexpr int kFloatPoison = 0xff;
constexpr int kIntegerPoison = 0xa5;
constexpr int kBoolPoison = 0x01;

int poison_of(Dtype dtype) {
    if (dtype == Dtype::boolean) return kBoolPoison;
    return is_floating(dtype) || is_complex(dtype) ? kFloatPoison : kIntegerPoison;
}

uint64_t checksum_of_bytes(const Tensor& tensor) {
    Checksum checksum;
    checksum.update(tensor.storage.memory.get(), tensor.storage.nbytes);
    return checksum.value();
}

}  // namespace

Result<PlacedCall> PlacedCall::create(const Step& step, Context& context, InputChecksums& checksums) {
    PlacedCall placed(step.call);
    if (Status s = placed.place_inputs(context, checksums); !s.ok()) return s.error();
    if (Status s = placed.place_outputs(step, context); !s.ok()) return s.error();
    return placed;
}

Result<TensorPtr> PlacedCall::placed(const TensorPtr& tensor, bool is_const, const std::string& name, Context& context,
                                     InputChecksums& checksums) {
    if (tensor == nullptr) return tensor;
    TensorPtr result = tensor;
    if (!is_const || !context.device->is_host()) {
        auto copy = to_device(*context.device, context.stream, *tensor);
        if (!copy.ok()) return copy;
        result = *copy;
    }
    if (is_const) {
        const auto [known, is_new] = checksums.try_emplace(tensor.get());
        if (is_new) known->second = checksum_of_bytes(*tensor);
        guarded_.push_back({name, result, known->second});
    }
    return result;
}

Status PlacedCall::place_inputs(Context& context, InputChecksums& checksums) {
    const auto args = call_.row->args();
    for (size_t i = 0; i < args.size(); ++i) {
        const std::string name(args[i].name);
        if (args[i].is_output) continue;
        if (auto* tensor = std::get_if<TensorPtr>(&call_.args[i])) {
            auto made = placed(*tensor, !args[i].is_inout, name, context, checksums);
            if (!made.ok()) return made.error();
            *tensor = *made;
        } else if (auto* list = std::get_if<TensorList>(&call_.args[i])) {
            for (TensorPtr& item : *list) {
                auto made = placed(item, !args[i].is_inout, name, context, checksums);
                if (!made.ok()) return made.error();
                item = *made;
            }
        } else if (auto* handle = std::get_if<diopiGeneratorHandle_t>(&call_.args[i])) {
            *generator_ = **handle;
            *handle = generator_.get();
        }
    }
    return {};
}

Status PlacedCall::place_outputs(const Step& step, Context& context) {
    for (const OutputSpec& output : step.outputs) {
        auto host = make_tensor(cpu_device(), output.spec);
        if (!host.ok()) return host.error();
        if ((*host)->storage.nbytes > 0) {
            std::memset((*host)->storage.memory.get(), poison_of(output.spec.dtype), (*host)->storage.nbytes);
        }
        if (context.device->is_host()) {
            call_.args[output.arg] = *host;
            continue;
        }
        auto made = to_device(*context.device, context.stream, **host);
        if (!made.ok()) return made.error();
        call_.args[output.arg] = *made;
    }
    return {};
}

Result<TensorPtr> PlacedCall::host_tensor(size_t arg, Context& context) {
    const auto& tensor = std::get<TensorPtr>(call_.args[arg]);
    if (tensor->storage.device == diopi_host) return tensor;
    return to_host(*context.device, context.stream, *tensor);
}

Status PlacedCall::inputs_unchanged(Context& context) {
    for (const Guarded& guarded : guarded_) {
        TensorPtr now = guarded.tensor;
        if (now->storage.device != diopi_host) {
            auto staged = make_tensor(cpu_device(), {now->shape, now->dtype, now->strides});
            if (!staged.ok()) return staged.error();
            if (Status s = context.device->copy_to_host(context.stream, (*staged)->storage.memory.get(),
                                                        now->storage.memory.get(), now->storage.nbytes);
                !s.ok()) {
                return s;
            }
            if (Status s = context.device->synchronize(context.stream); !s.ok()) return s;
            now = *staged;
        }
        if (checksum_of_bytes(*now) != guarded.checksum) {
            return failed("input " + guarded.name + " was modified: it is const in " +
                          std::string(call_.row->function));
        }
    }
    return {};
}

}  // namespace diopi
