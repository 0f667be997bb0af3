/// Fallback: another backend runs the calls that the device cannot run, or must not run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "call/chain.hpp"
#include "intercept/call_copy.hpp"
#include "intercept/name_list.hpp"
#include "journal/fallback_record.hpp"

namespace diopi {

/// One call that fell back.
struct FallbackEvent {
    FallbackReason reason = FallbackReason::kForced;
    const Call& call;  ///< the original, on the device
    const Call& copy;  ///< after the other backend ran it
    Transfers in, out;
    double seconds = 0;  ///< time of the other backend's call alone
};

/// "OpFallbackHook: add.Tensor ... input: {shape: [2], ...} output: ... cpu output: ...", the format that users of the
/// standard know.
[[nodiscard]] std::string seed_line(const FallbackEvent& event);

/// Selects the calls that are forced to fall back.
struct FallbackLists {
    std::optional<NameList> only;    ///< these; nullopt: all, if there is a list of exceptions
    std::optional<NameList> except;  ///< but not these
    /// Replaces the lists if it is set.
    std::function<bool(const Call&)> wanted;
};

class Fallback final : public Interceptor {
 public:
    using Sink = std::function<void(const FallbackEvent&)>;
    /// `other` runs the calls; `sink` may be empty.
    Fallback(Side& other, FallbackLists& lists, Sink sink) : other_(&other), lists_(&lists), sink_(std::move(sink)) {}

    /// An error of a copy, or of the other backend, becomes the call's. A call that nobody implements stays so.
    Outcome around(Call& call, Context& context, const Next& next) override;

 private:
    [[nodiscard]] bool is_forced(const Call& call);
    [[nodiscard]] Outcome fall_back(FallbackReason reason, Call& call, Context& context);

    Side* other_;
    FallbackLists* lists_;
    Sink sink_;
};

}  // namespace diopi
