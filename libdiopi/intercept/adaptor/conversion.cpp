#include "intercept/adaptor/conversion.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "intercept/adaptor/adaptor_rules.hpp"
#include "intercept/call_copy.hpp"
#include "intercept/device_timer.hpp"

namespace diopi {

namespace {

/// The memory format of a tensor without gaps, whatever its order.
diopiMemoryFormat_t format_of(const TensorSpec& spec) {
    if (is_contiguous(spec.shape, spec.strides)) return diopiMemoryFormat_Contiguous;
    switch (spec.shape.size()) {
        case 3:
            return diopiMemoryFormat_ChannelsLast1d;
        case 4:
            return diopiMemoryFormat_ChannelsLast;
        default:
            return diopiMemoryFormat_ChannelsLast3d;
    }
}

/// Whether the elements have the same places: strides of dims of size 1 do not matter.
bool same_layout(ShapeView shape, ShapeView a, ShapeView b) {
    for (size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] != 1 && a[d] != b[d]) return false;
    }
    return true;
}

}  // namespace

IntegerRange integer_range(Dtype dtype) {
    if (dtype == Dtype::boolean) return {0, 1};
    if (is_floating(dtype) || is_complex(dtype)) {
        const int bits = digits_of(dtype);
        return {-(int64_t{1} << bits), int64_t{1} << bits};
    }
    const auto bits = static_cast<int>(size_of(dtype) * 8);
    if (is_unsigned(dtype)) return {0, bits == 64 ? INT64_MAX : (int64_t{1} << bits) - 1};
    return {-(int64_t{1} << (bits - 2)) * 2, (int64_t{1} << (bits - 2)) - 1 + (int64_t{1} << (bits - 2))};
}

ConversionFigures& ConversionFigures::operator+=(const ConversionFigures& other) {
    count += other.count;
    by_host += other.by_host;
    nbytes += other.nbytes;
    seconds += other.seconds;
    return *this;
}

bool may_overflow(Dtype from, Dtype to) {
    if (!is_integer(from)) return false;
    const IntegerRange source = integer_range(from), target = integer_range(to);
    return from == Dtype::uint64 || source.low < target.low || source.high > target.high;
}

std::string first_out_of_range(const Tensor& host, Dtype to) {
    if (host.numel() == 0) return "";
    const bool is_float = is_floating(host.dtype);
    auto wide = cast(host, is_float ? Dtype::float64 : Dtype::int64);
    if (!wide.ok()) return wide.error().message;
    const auto [low, high] = integer_range(to);
    const auto* integers = (*wide)->data_as<int64_t>();
    const auto* reals = (*wide)->data_as<double>();
    for (int64_t i = 0; i < host.numel(); ++i) {
        if (is_float) {
            const bool fits = reals[i] >= static_cast<double>(low) && reals[i] < static_cast<double>(high) + 1;
            if (!fits) return fmt::format("{}", reals[i]);
        } else if (integers[i] < low || integers[i] > high) {
            // A uint64 of 2^63 and more is a negative number here.
            return host.dtype == Dtype::uint64 ? fmt::format("{}", static_cast<uint64_t>(integers[i]))
                                               : fmt::format("{}", integers[i]);
        }
    }
    return "";
}

Result<bool> Converter::run(Call& call, Context& context) const {
    const Outcome outcome = chain_.run(call, context);
    if (outcome.ok()) return true;
    if (outcome.is_declined()) return false;
    return failed(fmt::format("{}: {}", call.row->function, outcome.message));
}

Result<TensorPtr> Converter::contiguous(const TensorPtr& from, const TensorSpec& wanted, Context& context) const {
    static const Row& row = *find_row("diopiContiguous");
    if (!backend_->implements(row)) return TensorPtr();
    Call call(row);
    call["out"] = TensorList{nullptr};
    call["input"] = from;
    call["memoryFormat"] = static_cast<int64_t>(format_of(wanted));
    const auto done = run(call, context);
    if (!done.ok()) return done.error();
    TensorPtr out = *done ? std::get<TensorList>(call["out"]).front() : nullptr;
    if (out == nullptr) return out;
    const bool is_wanted = out->shape == wanted.shape && out->dtype == wanted.dtype &&
                           same_layout(out->shape, out->strides, wanted.strides);
    return is_wanted ? out : nullptr;
}

Result<bool> Converter::in_one_call(const TensorPtr& from, const TensorPtr& to, Context& context) const {
    static const Row& copying = *find_row("diopiCopyInp");
    static const Row& casting = *find_row("diopiCastDtype");
    const bool is_copy = from->dtype == to->dtype;
    const Row& row = is_copy ? copying : casting;
    if (!backend_->implements(row)) return false;
    Call call(row);
    call[is_copy ? "src" : "input"] = from;
    call[is_copy ? "dest" : "out"] = to;
    return run(call, context);
}

Result<bool> Converter::in_two_calls(const TensorPtr& from, const TensorPtr& to, const TensorPtr& dense,
                                     Context& context) const {
    // The intermediate tensor has the strides of one side and the dtype of the other.
    const Tensor& strided = dense == from ? *to : *from;
    auto between = make_tensor(*context.device, {dense->shape, strided.dtype, dense->strides});
    if (!between.ok()) return between.error();
    auto done = in_one_call(from, *between, context);
    if (!done.ok() || !*done) return done;
    return in_one_call(*between, to, context);
}

Status Converter::on_host(const Tensor& from, const Tensor& to, Context& context) {
    auto host = to_host(*context.device, context.stream, from);
    if (host.ok() && (*host)->dtype != to.dtype) host = cast(**host, to.dtype);
    if (!host.ok()) return host.status();
    return copy_values(*context.device, context.stream, **host, to);
}

Status Converter::fill(const TensorPtr& from, const TensorPtr& to, const TensorPtr& dense, Context& context,
                       ConversionFigures& figures) const {
    auto done = in_one_call(from, to, context);
    const bool is_both = from->dtype != to->dtype && !same_layout(from->shape, from->strides, to->strides);
    if (done.ok() && !*done && is_both) done = in_two_calls(from, to, dense, context);
    if (!done.ok()) return done.status();
    if (*done) return {};
    ++figures.by_host;
    return on_host(*from, *to, context);
}

Result<TensorPtr> Converter::convert(const TensorPtr& from, const TensorSpec& wanted, Context& context,
                                     ConversionFigures& figures) const {
    const DeviceTimer timer(context);
    Result<TensorPtr> made = TensorPtr();
    const bool is_layout_alone = from->dtype == wanted.dtype && from->numel() > 0;
    if (is_layout_alone) made = contiguous(from, wanted, context);
    if (!made.ok()) return made;
    if (*made == nullptr) {
        made = make_tensor(*context.device, wanted);
        if (!made.ok() || from->numel() == 0) return made;
        if (Status s = fill(from, *made, *made, context, figures); !s.ok()) return s.error();
    }
    ++figures.count;
    figures.nbytes += static_cast<int64_t>(from->nbytes());
    figures.seconds += timer.seconds();
    return made;
}

Status Converter::copy_back(const TensorPtr& from, const TensorPtr& to, Context& context,
                            ConversionFigures& figures) const {
    if (from->numel() == 0) return {};
    const DeviceTimer timer(context);
    if (Status s = fill(from, to, from, context, figures); !s.ok()) return s;
    ++figures.count;
    figures.nbytes += static_cast<int64_t>(from->nbytes());
    figures.seconds += timer.seconds();
    return {};
}

}  // namespace diopi
