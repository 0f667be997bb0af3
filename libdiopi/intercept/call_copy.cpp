#include "intercept/call_copy.hpp"

#include <algorithm>

#include "call/arg_kind.hpp"
#include "call/element_numbers.hpp"
#include "call/tensors.hpp"
#include "core/convert.hpp"
#include "core/stopwatch.hpp"
#include "intercept/device_timer.hpp"

namespace diopi {

namespace {

/// The number of elements that are converted at a time: they stay in the cache.
constexpr int64_t kPiece = 1 << 14;

/// Some elements of a contiguous host tensor.
Tensor piece_of(const Tensor& tensor, int64_t begin, int64_t numel) {
    Tensor piece = tensor;
    piece.offset += begin;
    piece.shape = {numel};
    piece.strides = {1};
    return piece;
}

Result<TensorPtr> cast_in_pieces(const Tensor& host, TensorPtr to) {
    const auto wide = make_tensor(cpu_device(), {{kPiece}, wide_dtype(to->dtype)});
    if (!wide.ok()) return wide;
    for (int64_t begin = 0; begin < host.numel(); begin += kPiece) {
        const int64_t numel = std::min(kPiece, host.numel() - begin);
        const Tensor middle = piece_of(**wide, 0, numel);
        widen(piece_of(host, begin, numel), middle);
        narrow(middle, piece_of(*to, begin, numel));
    }
    return to;
}

void add_copy(Transfers& transfers, const Tensor& tensor, const DeviceTimer& timer) {
    ++transfers.copies;
    transfers.nbytes += static_cast<int64_t>(tensor.nbytes());
    transfers.seconds += timer.seconds();
}

}  // namespace

Result<TensorPtr> cast(const Tensor& host, Dtype dtype) {
    auto made = make_tensor(cpu_device(), {host.shape, dtype});
    if (!made.ok()) return made;
    if (wide_dtype(dtype) == dtype) {
        widen(host, **made);
        return made;
    }
    if (host.is_contiguous() && host.numel() > kPiece) return cast_in_pieces(host, std::move(*made));
    auto wide = make_tensor(cpu_device(), {host.shape, wide_dtype(dtype)});
    if (!wide.ok()) return wide;
    widen(host, **wide);
    narrow(**wide, **made);
    return made;
}

Result<std::unique_ptr<Side>> Side::create(const Backend& backend, std::optional<Dtype> floating) {
    auto stream = backend.device().create_stream();
    if (!stream.ok()) return stream.error();
    return std::unique_ptr<Side>(new Side(backend, *stream, floating));
}

Side::~Side() {
    context_.release();
    static_cast<void>(context_.device->destroy_stream(context_.stream));
}

void Side::note_made(const Tensor& tensor) {
    std::erase_if(opaque_, [](const std::weak_ptr<void>& memory) { return memory.expired(); });
    opaque_.push_back(tensor.storage.memory);
}

bool Side::has_made(const Tensor& tensor) const {
    return std::ranges::any_of(
        opaque_, [&](const std::weak_ptr<void>& memory) { return memory.lock() == tensor.storage.memory; });
}

Result<CallCopy> CallCopy::create(const Call& call, Context& from, Side& to) {
    CallCopy copy(call, to);
    if (Status s = copy.copy_arguments(from); !s.ok()) return s.error();
    return copy;
}

void CallCopy::find_inputs() {
    for_each_tensor(call_, [&](const Place& place, const TensorPtr& tensor) {
        if (place.is_read()) inputs_.insert(tensor.get());
    });
}

Status CallCopy::copy_arguments(Context& from) {
    find_inputs();
    convert_element_numbers(call_);
    for (size_t i = 0; i < call_.args.size(); ++i) {
        const Arg& arg = call_.row->args()[i];
        Value& value = call_.args[i];
        if (auto* tensor = std::get_if<TensorPtr>(&value)) {
            if (Status s = copy(*tensor, arg, from); !s.ok()) return s;
        } else if (auto* list = std::get_if<TensorList>(&value)) {
            for (TensorPtr& tensor : *list) {
                if (Status s = copy(tensor, arg, from); !s.ok()) return s;
            }
        }
        for_each_generator(value, [&](diopiGeneratorHandle_t& handle) {
            handle = generators_.emplace_back(std::make_unique<Generator>(*handle)).get();
        });
    }
    return {};
}

Status CallCopy::copy(TensorPtr& tensor, const Arg& arg, Context& from) {
    if (tensor != nullptr && arg.is_opaque && !arg.is_output && !side_->has_made(*tensor)) tensor = nullptr;
    if (tensor == nullptr) return {};
    if (tensor->is_sparse()) return not_implemented(std::string(arg.name) + " is sparse, which is not copied yet");
    TensorPtr& known = copies_[tensor.get()];
    if (known == nullptr) {
        Device& device = side_->backend().device();
        const Dtype own = side_->dtype_for(tensor->dtype), dtype = side_->is_wide() ? wide_dtype(own) : own;
        const TensorSpec spec{tensor->shape, dtype};
        const bool is_read = inputs_.contains(tensor.get());
        const DeviceTimer timer(from);
        auto made = is_read ? to_host(*from.device, from.stream, *tensor) : make_tensor(device, spec);
        if (made.ok() && is_read && (*made)->dtype != dtype) made = cast(**made, dtype);
        if (made.ok() && is_read && !device.is_host()) made = to_device(device, side_->context().stream, **made);
        if (!made.ok()) return made.status();
        if (dtype != own) dtypes_.emplace(made->get(), own);
        if (is_read) add_copy(in_, *tensor, timer);
        known = std::move(*made);
    }
    tensor = known;
    return {};
}

Outcome CallCopy::run() {
    const Chain chain(side_->backend());
    const Stopwatch watch;
    Outcome outcome = chain.run(call_, side_->context());
    Status s = side_->backend().device().synchronize(side_->context().stream);
    seconds_ = watch.seconds();
    if (outcome.ok() && !s.ok()) return {diopiErrorOccurred, s.message()};
    return outcome;
}

Result<TensorPtr> CallCopy::wide_tensor(const Tensor& tensor) {
    return to_host(side_->backend().device(), side_->context().stream, tensor);
}

Result<TensorPtr> CallCopy::host_tensor(const Tensor& tensor) {
    auto host = wide_tensor(tensor);
    const auto original = dtypes_.find(&tensor);
    if (!host.ok() || original == dtypes_.end()) return host;
    auto narrowed = make_tensor(cpu_device(), {tensor.shape, original->second});
    if (narrowed.ok() && tensor.numel() > 0) narrow(**host, **narrowed);
    return narrowed;
}

Status CallCopy::write_back(Call& original, Context& context) {
    size_t generator = 0;
    for (size_t i = 0; i < call_.args.size(); ++i) {
        const Arg& arg = call_.row->args()[i];
        const bool written = arg.is_output || arg.is_inout;
        Value& value = original.args[i];
        if (auto* tensor = std::get_if<TensorPtr>(&value)) {
            if (!written) continue;
            if (Status s = write_back(std::get<TensorPtr>(call_.args[i]), *tensor, context); !s.ok()) return s;
        } else if (auto* list = std::get_if<TensorList>(&value)) {
            const auto& copies = std::get<TensorList>(call_.args[i]);
            for (size_t k = 0; written && k < list->size(); ++k) {
                if (Status s = write_back(copies[k], (*list)[k], context); !s.ok()) return s;
                if (arg.is_opaque && (*list)[k] != nullptr) side_->note_made(*(*list)[k]);
            }
        } else if (arg.is_generator()) {
            for_each_generator(value, [&](diopiGeneratorHandle_t handle) { *handle = *generators_[generator++]; });
        } else {
            value = call_.args[i];
        }
    }
    return {};
}

Status CallCopy::write_back(const TensorPtr& copy, TensorPtr& original, Context& context) {
    if (copy == nullptr) return {};
    const DeviceTimer timer(context);
    const bool as_it_is = copy->storage.device == diopi_host && !dtypes_.contains(copy.get());
    auto host = as_it_is ? Result<TensorPtr>(copy) : host_tensor(*copy);
    if (!host.ok()) return host.status();
    const bool fits = original != nullptr && original->shape == copy->shape && original->dtype == (*host)->dtype;
    if (!fits) {
        // The function itself allocated this tensor.
        auto made = to_device(*context.device, context.stream, **host);
        if (!made.ok()) return made.status();
        original = std::move(*made);
    } else if (Status s = copy_values(*context.device, context.stream, **host, *original); !s.ok()) {
        return s;
    }
    add_copy(out_, *copy, timer);
    return {};
}

}  // namespace diopi
