/// The `sim` backend: the kernels of the cpu backend on a simulated device.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "call/chain.hpp"
#include "intercept/name_list.hpp"
#include "runtime/sim_device.hpp"

namespace diopi {

struct SimOptions {
    SimModel model;
    std::optional<NameList> operators;  ///< operators that it implements; nullopt: all of the cpu backend
    std::optional<NameList> except;     ///< operators that it does not implement
    std::vector<Dtype> dtypes;          ///< dtypes of tensors that it takes; empty: all
    bool contiguous = false;            ///< takes only contiguous tensors
    bool converts = false;              ///< its casts and copies take every dtype and every layout
};

/// Counts the time of each kernel on the device, and declines what the device does not support. It is innermost in its
/// chain.
class SimBackend final : public Interceptor {
 public:
    explicit SimBackend(SimOptions options);

    [[nodiscard]] const Backend& backend() const { return backend_; }
    [[nodiscard]] SimDevice& device() { return device_; }
    Outcome around(Call& call, Context& context, const Next& next) override;
    /// Names in the options that the standard has no function for.
    [[nodiscard]] std::vector<std::string> unknown_names() const;

 private:
    [[nodiscard]] std::vector<AnyFunction> supported();
    /// Declines a call with a tensor that the device does not take.
    [[nodiscard]] Outcome check(const Call& call) const;

    SimOptions options_;
    SimDevice device_;
    std::vector<AnyFunction> table_;
    Backend backend_;
};

}  // namespace diopi
