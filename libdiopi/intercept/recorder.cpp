#include "intercept/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "call/call_name.hpp"
#include "call/tensors.hpp"
#include "check/figures.hpp"
#include "check/oracle.hpp"
#include "runtime/generator.hpp"

namespace diopi {

namespace {

/// The largest whole number that a double holds, and the widest range of an integer recipe.
constexpr double kMostInteger = 0x1p53, kMostIntegers = 0x1p32;

/// All elements of the tensor's storage, one dim; null if its size is no multiple of an element's.
TensorPtr whole_storage(const Tensor& tensor) {
    const size_t size = size_of(tensor.dtype);
    if (tensor.storage.nbytes % size != 0) return nullptr;
    auto whole = std::make_shared<Tensor>(tensor);
    whole->offset = 0;
    whole->shape = {static_cast<int64_t>(tensor.storage.nbytes / size)};
    whole->strides = {1};
    return whole;
}

/// Takes the numbers that the function gives back through pointers.
void take_numbers(const Call& call, Call& captured) {
    for (size_t i = 0; i < call.args.size(); ++i) {
        const ArgKind kind = call.row->args()[i].kind;
        if (kind == ArgKind::boolean_ptr || kind == ArgKind::float64_ptr) captured.args[i] = call.args[i];
    }
}

}  // namespace

Recipe recipe_like(const Tensor& host) {
    const Dtype dtype = host.dtype;
    const TensorFigures figures = figures_of(host);
    if (figures.numel == 0) return {Recipe::Kind::kConstant, dtype, 0, 0};
    if (figures.inf_or_nan == figures.numel) return {Recipe::Kind::kConstant, dtype, real_of(host, 0), 0};
    double low = figures.min, high = figures.max;
    const bool is_discrete = !is_floating(dtype) && !is_complex(dtype);
    if (is_discrete) {
        low = std::clamp(low, -kMostInteger, kMostInteger);
        high = std::clamp(high, -kMostInteger, kMostInteger);
    }
    if (low == high) return {Recipe::Kind::kConstant, dtype, low, 0};
    if (is_discrete) return {Recipe::Kind::kIntegers, dtype, low, std::min(high + 1, low + kMostIntegers)};
    if (low >= 0) return {Recipe::Kind::kUniform, dtype, low, high};
    const bool is_finite = std::isfinite(figures.mean) && std::isfinite(figures.std);
    return {Recipe::Kind::kNormal, dtype, is_finite ? figures.mean : 0, is_finite ? figures.std : 1};
}

std::vector<Recorder::Use> Recorder::uses_of(const Call& call) {
    std::vector<Use> uses;
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        const bool reads = place.is_read(), writes = place.is_written();
        if (!tensor->is_sparse()) return uses.push_back({tensor, place.name(), reads, writes});
        for (const auto& part : {tensor->crow_indices, tensor->col_indices, tensor->values}) {
            if (part != nullptr) uses.push_back({part, "", reads, writes});
        }
    });
    return uses;
}

size_t Recorder::storage_of(const TensorPtr& tensor) {
    // A tensor without memory has a storage of its own.
    const std::shared_ptr<void> memory = tensor->storage.memory ? tensor->storage.memory : tensor;
    Block& block = blocks_[memory.get()];
    const bool is_same = !block.memory.owner_before(memory) && !memory.owner_before(block.memory);
    if (is_same) return block.storage;
    block = {memory, capture_.storages.size()};
    capture_.storages.push_back(
        {fmt::format("s{}", block.storage), static_cast<int64_t>(tensor->storage.nbytes), std::nullopt});
    is_known_.push_back(false);
    return block.storage;
}

size_t Recorder::tensor_of(const TensorPtr& tensor) {
    const size_t storage = storage_of(tensor);
    const View view{storage, tensor->dtype, tensor->shape, tensor->strides, tensor->offset};
    const auto [known, is_new] = views_.try_emplace(view, capture_.tensors.size());
    if (is_new) {
        capture_.add_tensor(fmt::format("t{}", known->second), storage, {tensor->shape, tensor->dtype, tensor->strides},
                            tensor->offset);
    }
    return known->second;
}

Status Recorder::record_beginning(const Tensor& tensor, size_t storage, Context& context) {
    const auto host = to_host(*context.device, context.stream, tensor);
    if (!host.ok()) return host.status();
    const Recipe recipe = recipe_like(**host);
    if (tensor.storage.nbytes % size_of(tensor.dtype) == 0) capture_.storages[storage].fill = recipe;
    is_known_[storage] = true;
    if (values_ == nullptr) return {};
    const TensorPtr whole = whole_storage(tensor);
    if (whole == nullptr) return {};
    const auto bytes = to_host(*context.device, context.stream, *whole);
    return bytes.ok() ? values_->storage(storage, **bytes) : bytes.status();
}

CapturedCall Recorder::described(const Call& call) {
    CapturedCall captured;
    if (call.origin != nullptr) static_cast<CallOrigin&>(captured) = *call.origin;
    captured.overload = name_of(call);
    const bool is_backward = call.row->variant == Variant::backward;
    if (captured.phase.empty()) captured.phase = is_backward ? "backward" : "forward";
    if (call.origin != nullptr) return captured;
    const auto forward = forward_ids_.find(call.row->op);
    if (is_backward && forward != forward_ids_.end()) {
        captured.forward_id = forward->second;
        return captured;
    }
    captured.forward_id = next_forward_id_++;
    if (call.row->variant == Variant::forward) forward_ids_[call.row->op] = *captured.forward_id;
    return captured;
}

/// The call with the capture's tensors, and with generators in their states before it.
Call Recorder::copy_of(const Call& call) {
    Call copy = call;
    copy.origin = nullptr;
    for_each_tensor(copy,
                    [&](const Place&, TensorPtr& tensor) { tensor = capture_.tensors[tensor_of(tensor)].tensor; });
    for (Value& value : copy.args) {
        for_each_generator(value, [&](diopiGeneratorHandle_t& handle) {
            handle = capture_.generators.emplace_back(std::make_shared<Generator>(*handle)).get();
        });
    }
    return copy;
}

Status Recorder::record(const Call& call, Context& context, const std::vector<Use>& uses) {
    for (const Use& use : uses) {
        const size_t storage = storage_of(use.tensor);
        if (!use.reads || is_known_[storage] || use.tensor->numel() == 0) continue;
        if (Status s = record_beginning(*use.tensor, storage, context); !s.ok()) return s;
    }
    for (const Use& use : uses) {
        if (use.writes) is_known_[storage_of(use.tensor)] = true;
    }
    CapturedCall captured = described(call);
    const bool is_sparse = std::ranges::any_of(uses, [](const Use& use) { return use.place.empty(); });
    if (!is_sparse) captured.call = copy_of(call);
    for (const Use& use : uses) {
        if (!is_sparse) break;
        const size_t tensor = tensor_of(use.tensor);
        if (use.reads) captured.reads.push_back(tensor);
        if (use.writes) captured.writes.push_back({tensor, {Recipe::Kind::kConstant, use.tensor->dtype, 0, 0}});
    }
    capture_.calls.push_back(std::move(captured));
    return {};
}

Status Recorder::record_results(const Call& call, Context& context, const std::vector<Use>& uses) {
    CapturedCall& captured = capture_.calls.back();
    if (captured.call) take_numbers(call, *captured.call);
    if (captured.call && values_ == nullptr) return {};
    size_t nth = 0;
    // The call has tensors now that the function made.
    for (const Use& use : captured.call ? uses_of(call) : uses) {
        if (!use.writes) continue;
        const auto host = to_host(*context.device, context.stream, *use.tensor);
        if (!host.ok()) return host.status();
        if (!captured.call) {
            captured.writes[nth++].second = recipe_like(**host);
        } else if (Status s = values_->result(capture_.calls.size() - 1, use.place, **host); !s.ok()) {
            return s;
        }
    }
    return {};
}

Outcome Recorder::around(Call& call, Context& context, const Next& next) {
    std::vector<Use> uses;
    const auto guarded = [&](const auto& step) {
        if (!status_.ok()) return;
        try {
            status_ = step();
        } catch (const std::bad_alloc&) {
            status_ = failed("out of memory; record fewer calls, or without their values");
        }
    };
    guarded([&] {
        uses = uses_of(call);
        return record(call, context, uses);
    });
    Outcome outcome = next(call, context);
    guarded([&] { return outcome.ok() ? record_results(call, context, uses) : Status(); });
    return outcome;
}

Result<Capture> Recorder::take() {
    Capture capture = std::exchange(capture_, {});
    const Status status = std::exchange(status_, {});
    blocks_.clear();
    views_.clear();
    is_known_.clear();
    forward_ids_.clear();
    next_forward_id_ = 0;
    if (status.ok()) return capture;
    if (values_ != nullptr) values_->drop();
    return status.error();
}

}  // namespace diopi
