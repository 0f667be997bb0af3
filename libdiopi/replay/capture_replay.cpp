#include "replay/capture_replay.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "call/tensors.hpp"
#include "replay/recipe.hpp"
#include "step/random_check.hpp"
#include "worker/crash_context.hpp"

namespace diopi {

namespace {

/// Values for an output that nobody computed or kept.
Recipe placeholder(Dtype dtype) {
    const bool real = is_floating(dtype) || is_complex(dtype);
    return real ? Recipe{Recipe::Kind::kNormal, dtype, 0, 1} : Recipe{Recipe::Kind::kConstant, dtype, 0, 0};
}

std::string title(size_t index, const CapturedCall& call) {
    const std::string_view function = call.call ? call.call->row->function : "no function";
    return fmt::format("call {} ({}, {})", index, call.overload, function);
}

}  // namespace

CaptureReplay::CaptureReplay(const Capture& capture, const CaptureValues& values, uint64_t seed)
    : capture_(&capture), values_(&values), seed_(seed) {
    for (const CapturedCall& call : capture.calls) uses_.push_back(uses_of(capture, call));
}

Result<CaptureReplay> CaptureReplay::create(const Capture& capture, const CaptureValues& values, uint64_t seed) {
    CaptureReplay replay(capture, values, seed);
    replay.find_lives();
    replay.find_results();
    if (Status s = replay.take_beginnings(); !s.ok()) return s.error();
    replay.place_tensors();
    return replay;
}

void CaptureReplay::find_lives() {
    lifetimes_.resize(capture_->storages.size());
    views_.resize(capture_->storages.size());
    begins_.resize(capture_->calls.size());
    ends_.resize(capture_->calls.size());
    for (size_t t = 0; t < capture_->tensors.size(); ++t) views_[capture_->tensors[t].storage].push_back(t);
    for (size_t c = 0; c < capture_->calls.size(); ++c) {
        for (const TensorUse& use : uses_[c]) {
            Lifetime& lifetime = lifetimes_[capture_->tensors[use.tensor].storage];
            lifetime.first = std::min(lifetime.first, c);
            lifetime.last = c;
        }
    }
}

void CaptureReplay::find_results() {
    std::vector<size_t> last_read(lifetimes_.size(), SIZE_MAX);
    std::vector<size_t> last_write(capture_->tensors.size(), SIZE_MAX);
    for (size_t c = 0; c < capture_->calls.size(); ++c) {
        for (const TensorUse& use : uses_[c]) {
            if (use.reads) last_read[capture_->tensors[use.tensor].storage] = c;
            if (use.writes) last_write[use.tensor] = c;
        }
    }
    for (size_t tensor = 0; tensor < last_write.size(); ++tensor) {
        const size_t call = last_write[tensor];
        if (call == SIZE_MAX || !capture_->calls[call].call) continue;
        const size_t storage = capture_->tensors[tensor].storage;
        if (last_read[storage] != SIZE_MAX && last_read[storage] > call) continue;
        results_.push_back(tensor);
        lifetimes_[storage].kept = true;
    }
    for (size_t s = 0; s < lifetimes_.size(); ++s) {
        if (lifetimes_[s].first == SIZE_MAX) continue;
        if (!capture_->storages[s].fill) begins_[lifetimes_[s].first].push_back(s);
        if (!lifetimes_[s].kept) ends_[lifetimes_[s].last].push_back(s);
    }
}

int64_t CaptureReplay::bytes_of(const std::vector<size_t>& storages) const {
    int64_t bytes = 0;
    for (const size_t storage : storages) bytes += capture_->storages[storage].nbytes;
    return bytes;
}

Status CaptureReplay::take_beginnings() {
    for (size_t s = 0; s < lifetimes_.size(); ++s) {
        const CapturedStorage& storage = capture_->storages[s];
        if (!storage.fill || lifetimes_[s].first == SIZE_MAX) continue;
        auto kept = values_->storage(storage.id);
        if (!kept.ok()) return kept.status();
        if (*kept == nullptr) {
            const int64_t count = storage.nbytes / static_cast<int64_t>(size_of(storage.fill->dtype));
            kept = draw_recipe(*storage.fill, {count}, recipe_key(capture_->name, storage.id, seed_));
            if (!kept.ok()) return Error{kept.error().code, storage.id + ": " + kept.error().message};
        }
        lifetimes_[s].beginning = *kept;
    }
    return {};
}

void CaptureReplay::place_tensors() {
    for (const CapturedTensor& tensor : capture_->tensors) {
        placed_.push_back(std::make_shared<Tensor>(*tensor.tensor));
    }
    for (const CapturedCall& call : capture_->calls) {
        titles_.push_back(title(titles_.size(), call));
        auto& placed = calls_.emplace_back();
        if (call.call) placed = own(call.with_origin());
    }
}

Call CaptureReplay::own(const Call& call) {
    Call owned = call;
    for_each_tensor(owned, [&](const Place&, TensorPtr& tensor) { tensor = placed_[capture_->position(*tensor)]; });
    for (Value& value : owned.args) {
        for_each_generator(value, [&](diopiGeneratorHandle_t& handle) {
            const Generator& recorded = *handle;
            handle = generators_.emplace_back(std::make_unique<Generator>(recorded), recorded).first.get();
        });
    }
    return owned;
}

Status CaptureReplay::begin_storage(size_t storage, Context& context) {
    Device& device = *context.device;
    const auto nbytes = static_cast<size_t>(capture_->storages[storage].nbytes);
    auto memory = device.allocate(nbytes);
    if (!memory.ok()) return memory.status();
    const Storage block{std::move(*memory), nbytes, device.is_host() ? diopi_host : diopi_device};
    for (const size_t view : views_[storage]) placed_[view]->storage = block;
    const TensorPtr& beginning = lifetimes_[storage].beginning;
    if (beginning == nullptr) return {};
    return device.copy_to_device(context.stream, block.memory.get(), beginning->data(), beginning->nbytes());
}

void CaptureReplay::end_storage(size_t storage) {
    for (const size_t view : views_[storage]) placed_[view]->storage.memory.reset();
}

Status CaptureReplay::begin(Context& context) {
    for (size_t s = 0; s < lifetimes_.size(); ++s) {
        end_storage(s);
        if (lifetimes_[s].beginning == nullptr) continue;
        if (Status status = begin_storage(s, context); !status.ok()) return status;
    }
    for (auto& [generator, recorded] : generators_) *generator = recorded;
    return context.device->synchronize(context.stream);
}

Status CaptureReplay::run(const Chain& chain, Context& context, const Visit& visit) {
    for (size_t c = 0; c < calls_.size(); ++c) {
        for (const size_t storage : begins_[c]) {
            if (Status s = begin_storage(storage, context); !s.ok()) return s;
        }
        if (Status s = run_call(c, chain, context, visit); !s.ok()) {
            return Error{s.error().code, titles_[c] + ": " + s.message()};
        }
        for (const size_t storage : ends_[c]) end_storage(storage);
    }
    return context.device->synchronize(context.stream);
}

Status CaptureReplay::run_call(size_t index, const Chain& chain, Context& context, const Visit& visit) {
    const CapturedCall& captured = capture_->calls[index];
    if (!calls_[index]) {
        for (const auto& [tensor, recipe] : captured.writes) {
            if (Status s = fill_unwritten(index, tensor, capture_->tensors[tensor].id, recipe, context); !s.ok())
                return s;
        }
        const Outcome none{diopiNoImplement, "the standard has no function for " + captured.overload};
        return visit ? visit({index, captured, nullptr, none}) : Status();
    }
    Call& call = *calls_[index];
    note_stage(titles_[index]);
    Outcome outcome = chain.run(call, context);
    if (!outcome.ok() && !outcome.is_declined()) return failed(outcome.message);
    if (outcome.is_declined()) {
        if (Status s = fill_unwritten_outputs(index, context); !s.ok()) return s;
    }
    Status visited = visit ? visit({index, captured, &call, std::move(outcome)}) : Status();
    context.release();
    return visited;
}

Status CaptureReplay::fill_unwritten_outputs(size_t index, Context& context) {
    const Row& row = *calls_[index]->row;
    for (const TensorUse& use : uses_[index]) {
        if (!use.writes || (use.reads && !row.draws_into(use.place))) continue;
        const Recipe recipe = placeholder(placed_[use.tensor]->dtype);
        if (Status s = fill_unwritten(index, use.tensor, use.place, recipe, context); !s.ok()) return s;
    }
    return {};
}

Status CaptureReplay::fill_unwritten(size_t call, size_t tensor, const std::string& place, const Recipe& recipe,
                                     Context& context) {
    const Tensor& target = *placed_[tensor];
    auto values = values_->result(call, place);
    if (values.ok() && *values == nullptr) {
        const std::string id = fmt::format("{}@{}", capture_->tensors[tensor].id, call);
        values = draw_recipe(recipe, target.shape, recipe_key(capture_->name, id, seed_));
    }
    if (!values.ok()) return values.status();
    if ((*values)->shape != target.shape || (*values)->dtype != target.dtype) {
        return bad_input(fmt::format("{} has values of {} {}, and is {} {}", place, name((*values)->dtype),
                                     to_string((*values)->shape), name(target.dtype), to_string(target.shape)));
    }
    return copy_values(*context.device, context.stream, **values, target);
}

}  // namespace diopi
