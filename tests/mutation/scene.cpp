#include "scene.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "call/tensors.hpp"
#include "core/convert.hpp"
#include "core/strided.hpp"

namespace diopi::mutation {

namespace {

Dtype part_of(Dtype dtype) {
    if (dtype == Dtype::complex32) return Dtype::float16;
    if (dtype == Dtype::complex64) return Dtype::float32;
    return dtype == Dtype::complex128 ? Dtype::float64 : dtype;
}

}  // namespace

TensorPtr dense_copy(const Tensor& tensor) {
    auto copy = make_tensor(cpu_device(), {tensor.shape, tensor.dtype, {}});
    if (!copy.ok() || tensor.numel() == 0) return nullptr;
    copy_strided(tensor, **copy);
    return *copy;
}

void put(const Tensor& dense, const Tensor& tensor) { copy_strided(dense, tensor); }

std::vector<double> values_of(const Tensor& tensor) {
    if (!is_floating(tensor.dtype)) return {};
    auto wide = make_tensor(cpu_device(), {tensor.shape, Dtype::float64, {}});
    if (!wide.ok()) return {};
    widen(tensor, **wide);
    const auto* values = (*wide)->data_as<double>();
    return {values, values + tensor.numel()};
}

void put_values(const std::vector<double>& values, const Tensor& tensor) {
    auto wide = make_tensor(cpu_device(), {tensor.shape, Dtype::float64, {}});
    auto rounded = make_tensor(cpu_device(), {tensor.shape, tensor.dtype, {}});
    if (!wide.ok() || !rounded.ok()) return;
    std::ranges::copy(values, (*wide)->data_as<double>());
    narrow(**wide, **rounded);
    put(**rounded, tensor);
}

std::byte* element(const Tensor& tensor, int64_t flat) {
    int64_t offset = 0;
    for (size_t d = tensor.shape.size(); d-- > 0;) {
        offset += flat % tensor.shape[d] * tensor.strides[d];
        flat /= tensor.shape[d];
    }
    return tensor.data_as<std::byte>() + offset * static_cast<int64_t>(size_of(tensor.dtype));
}

void alter(const Tensor& tensor, int64_t flat) {
    std::byte* at = element(tensor, flat);
    const Dtype dtype = part_of(tensor.dtype);
    if (!is_floating(dtype)) {
        *at ^= std::byte{1};
        return;
    }
    Tensor one;
    // The element is not owned: its owner lives longer than this function.
    one.storage = {std::shared_ptr<void>(std::shared_ptr<void>(), at), size_of(dtype), diopi_host};
    one.dtype = dtype;
    const double value = values_of(one).front();
    put_values({std::isfinite(value) ? value + 0.5 + std::fabs(value) / 4 : 1.0}, one);
}

namespace {

std::vector<Generator> states_of(const std::vector<Generator*>& generators) {
    std::vector<Generator> states;
    for (const Generator* generator : generators) states.push_back(*generator);
    return states;
}

void set_states(const std::vector<Generator*>& generators, const std::vector<Generator>& states) {
    for (size_t i = 0; i < states.size(); ++i) *generators[i] = states[i];
}

}  // namespace

Scene::Scene(Call& call, Context& context, const Next& next, int64_t serial)
    : call_(&call), context_(&context), next_(&next), serial_(serial) {
    const auto args = call.row->args();
    for (const bool inout : {false, true}) {
        for (size_t i = 0; i < args.size(); ++i) {
            // No result is what a function leaves in its scratch memory.
            const bool is_wanted = inout ? args[i].is_inout && args[i].zeros_of.empty() : args[i].is_output;
            if (is_wanted) add_result({i}, inout);
        }
    }
    generators_before_ = states_of(generators());
}

void Scene::add_result(ArgPlace place, bool is_inout) {
    const auto* list = std::get_if<TensorList>(&call_->args[place.arg]);
    const size_t count = list == nullptr ? 1 : list->size();
    for (place.position = 0; place.position < count; ++place.position) {
        const TensorPtr tensor = call_->tensor_at(place);
        if (tensor == nullptr || tensor->numel() == 0) continue;
        results_.push_back({tensor, dense_copy(*tensor), nullptr, is_inout, place});
    }
}

void Scene::run_right() {
    outcome_ = (*next_)(*call_, *context_);
    const auto args = call_->row->args();
    for (size_t i = 0; i < args.size() && outcome_.ok(); ++i) {
        if (!args[i].is_made_result()) continue;
        add_result({i}, false);
        if (results_.empty() || results_.back().place.arg != i) continue;
        const Tensor& before = *results_.back().before;
        std::memset(before.storage.memory.get(), static_cast<int>(context_->fresh.value_or(std::byte{0})),
                    before.storage.nbytes);
    }
    for (Result& result : results_) result.right = dense_copy(*result.tensor);
}

void Scene::rewind() {
    for (const Result& result : results_) put(*result.before, *result.tensor);
    set_states(generators(), generators_before_);
}

void Scene::run_instead(Call changed) {
    const std::vector<Generator> after = states_of(generators());
    rewind();
    if ((*next_)(changed, *context_).ok()) {
        for (Result& result : results_) {
            if (!call_->row->args()[result.place.arg].is_made) continue;
            result.tensor = changed.tensor_at(result.place);
            call_->set_tensor(result.place, result.tensor);
        }
        return;
    }
    for (const Result& result : results_) put(*result.right, *result.tensor);
    set_states(generators(), after);
}

bool Scene::changed() const {
    return acted_ || std::ranges::any_of(results_, [](const Result& result) {
               const TensorPtr now = dense_copy(*result.tensor);
               if (now == nullptr || now->nbytes() != result.right->nbytes()) return true;
               return std::memcmp(now->data(), result.right->data(), now->nbytes()) != 0;
           });
}

void Scene::fail(std::string message) {
    outcome_ = {diopiErrorOccurred, std::move(message)};
    act();
}

void Scene::succeed() {
    outcome_ = {};
    act();
}

std::vector<TensorPtr> Scene::inputs() const {
    std::vector<TensorPtr> found;
    for_each_tensor(std::as_const(*call_), [&](const Place& place, const TensorPtr& tensor) {
        if (!place.is_written() && tensor->numel() > 0) found.push_back(tensor);
    });
    return found;
}

std::vector<TensorPtr> Scene::tensors() const {
    std::vector<TensorPtr> found;
    for_each_tensor(std::as_const(*call_), [&](const Place&, const TensorPtr& tensor) { found.push_back(tensor); });
    return found;
}

std::vector<Generator*> Scene::generators() const {
    std::vector<Generator*> found;
    for (const Value& value : call_->args) {
        for_each_generator(value, [&](Generator* generator) { found.push_back(generator); });
    }
    return found;
}

Call Scene::with(const Exchange& exchange) const {
    Call changed = *call_;
    for_each_tensor(changed, [&](const Place& place, TensorPtr& tensor) { tensor = exchange(tensor, place.arg); });
    return changed;
}

}  // namespace diopi::mutation
