/// Conversions of tensors between dtypes and layouts: by the backend's own functions where it has them, else by the
/// host.
#pragma once

#include <cstdint>
#include <string>

#include "call/chain.hpp"

namespace diopi {

/// Conversions in one direction.
struct ConversionFigures {
    int64_t count = 0;
    int64_t by_host = 0;  ///< of them: those that the backend's functions did not do
    int64_t nbytes = 0;   ///< read
    double seconds = 0;

    ConversionFigures& operator+=(const ConversionFigures& other);
};

/// Whether `from` is a dtype of integers some of which `to` cannot hold exactly.
[[nodiscard]] bool may_overflow(Dtype from, Dtype to);
/// An element of a host tensor of integers that `to` cannot hold exactly, as a text; empty where there is none.
[[nodiscard]] std::string first_out_of_range(const Tensor& host, Dtype to);

/// Converts on one backend.
class Converter {
 public:
    /// `device_tool` stands innermost in every chain to the backend; null: none.
    Converter(const Backend& backend, Interceptor* device_tool) : chain_(backend), backend_(&backend) {
        if (device_tool != nullptr) chain_.add(*device_tool);
    }

    /// A new tensor on the context's device with the values of `from`: by diopiContiguous, or diopiCastDtype and
    /// diopiCopyInp, or on the host. One of these that fails, rather than to decline, is an error.
    [[nodiscard]] Result<TensorPtr> convert(const TensorPtr& from, const TensorSpec& wanted, Context& context,
                                            ConversionFigures& figures) const;
    /// Gives `to` the values of `from`, which has its shape and no gaps.
    [[nodiscard]] Status copy_back(const TensorPtr& from, const TensorPtr& to, Context& context,
                                   ConversionFigures& figures) const;

 private:
    /// By the backend's diopiContiguous; null where it has none, or declines.
    [[nodiscard]] Result<TensorPtr> contiguous(const TensorPtr& from, const TensorSpec& wanted, Context& context) const;
    /// Whether the backend's one function for it has done it.
    [[nodiscard]] Result<bool> in_one_call(const TensorPtr& from, const TensorPtr& to, Context& context) const;
    /// Dtype and layout one after the other, so that only a copy meets the strided tensor.
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
