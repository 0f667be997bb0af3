/// Dump: each call as text, before and after it runs.
#pragma once

#include <functional>
#include <string>

#include "call/chain.hpp"

namespace diopi {

/// The levels of DIPU_DUMP_OP_ARGS.
enum class DumpLevel { kNone = 0, kNames = 1, kArguments = 2, kValues = 3 };

class Dump final : public Interceptor {
 public:
    using Print = std::function<void(const std::string& line)>;
    Dump(DumpLevel level, Print print) : level_(level), print_(std::move(print)) {}

    /// Prints inputs before the call, outputs after it, and the error of a call that fails.
    Outcome around(Call& call, Context& context, const Next& next) override;

 private:
    void print_arguments(const Call& call, Context& context, bool after);

    DumpLevel level_;
    Print print_;
    int64_t number_ = 0;
};

}  // namespace diopi
