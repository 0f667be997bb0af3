/// CallTimer: how long each call takes on its device.
#pragma once

#include <functional>
#include <memory>

#include "call/chain.hpp"

namespace diopi {

/// Waits for the stream after each call, so that a call's time is its own.
class CallTimer final : public Interceptor {
 public:
    using Sink = std::function<void(const Call& call, double seconds)>;
    /// Sees every call that succeeded.
    explicit CallTimer(Sink sink) : sink_(std::move(sink)) {}

    /// An error of the device's events is the call's.
    Outcome around(Call& call, Context& context, const Next& next) override;

 private:
    Status prepare(Device& device);

    Sink sink_;
    Device* device_ = nullptr;  ///< that the events are of
    std::unique_ptr<Event> start_, end_;
};

}  // namespace diopi
