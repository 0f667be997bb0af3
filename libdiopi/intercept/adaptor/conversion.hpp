/// Conversions of tensors between dtypes and layouts: by the backend's own functions if it has them, else on the host.
#pragma once

#include <cstdint>
#include <string>

#include "call/chain.hpp"

namespace diopi {

/// Conversions in one direction.
struct ConversionFigures {
    int64_t count = 0;
    int64_t by_host = 0;  ///< those of them that the backend's functions did not do
    int64_t nbytes = 0;   ///< bytes read
    double seconds = 0;

    ConversionFigures& operator+=(const ConversionFigures& other);
};

/// The integers that a dtype holds without a gap.
struct IntegerRange {
    int64_t low, high;
};
[[nodiscard]] IntegerRange integer_range(Dtype dtype);

/// Whether integers of dtype `from` may not fit exactly in `to`.
[[nodiscard]] bool may_overflow(Dtype from, Dtype to);
/// The first element of a host tensor of whole numbers that `to` cannot hold exactly, as text; empty if there is none.
[[nodiscard]] std::string first_out_of_range(const Tensor& host, Dtype to);

/// Converts on one backend.
class Converter {
 public:
    /// `device_tool` is the innermost tool in every chain to the backend; null: none.
    Converter(const Backend& backend, Interceptor* device_tool) : chain_(backend), backend_(&backend) {
        if (device_tool != nullptr) chain_.add(*device_tool);
    }

    /// A new tensor on the context's device with the values of `from`: by diopiContiguous, or diopiCastDtype and
    /// diopiCopyInp, or on the host. If one of these fails, and does not decline, that is an error.
    [[nodiscard]] Result<TensorPtr> convert(const TensorPtr& from, const TensorSpec& wanted, Context& context,
                                            ConversionFigures& figures) const;
    /// Copies the values of `from` to `to`, which has the same shape; `from` has no gaps.
    [[nodiscard]] Status copy_back(const TensorPtr& from, const TensorPtr& to, Context& context,
                                   ConversionFigures& figures) const;

 private:
    /// Converts by the backend's diopiContiguous; null if it is missing, or declines.
    [[nodiscard]] Result<TensorPtr> contiguous(const TensorPtr& from, const TensorSpec& wanted, Context& context) const;
    /// Tries the one function of the backend for it; true if that did it.
    [[nodiscard]] Result<bool> in_one_call(const TensorPtr& from, const TensorPtr& to, Context& context) const;
    /// Converts dtype and layout one after the other, so that only a copy gets the strided tensor.
    [[nodiscard]] Result<bool> in_two_calls(const TensorPtr& from, const TensorPtr& to, const TensorPtr& dense,
                                            Context& context) const;
    [[nodiscard]] static Status on_host(const Tensor& from, const Tensor& to, Context& context);
    [[nodiscard]] Status fill(const TensorPtr& from, const TensorPtr& to, const TensorPtr& dense, Context& context,
                              ConversionFigures& figures) const;
    [[nodiscard]] Result<bool> run(Call& call, Context& context) const;

    Chain chain_;
    const Backend* backend_;
};

}  // namespace diopi
