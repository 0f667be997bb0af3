#include "call/workspace.hpp"

#include <diopi/diopirt.h>

#include <utility>
#include <vector>

#include "call/invoke.hpp"

namespace diopi {

namespace {

/// A workspace of a call that leaves it out, and the number of its bytes.
struct Missing {
    size_t tensor, bytes;
    Value given_bytes;
};

class Loan {
 public:
    Loan(AnyFunction function, Context& context, Call& call) : function_(function), context_(context), call_(call) {
        const auto args = call.row->args();
        for (size_t i = 0; i < args.size(); ++i) {
            if (args[i].bytes_at < 0 || !is_null(call.args[i])) continue;
            const auto bytes = static_cast<size_t>(args[i].bytes_at);
            if (!is_null(call.args[bytes])) missing_.push_back({i, bytes, call.args[bytes]});
        }
    }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan() {
        for (Missing& each : missing_) {
            call_.args[each.tensor] = Value();
            call_.args[each.bytes] = std::move(each.given_bytes);
        }
    }

    [[nodiscard]] diopiError_t take() {
        if (missing_.empty()) return diopiSuccess;
        for (const Missing& each : missing_) call_.args[each.bytes] = int64_t{-1};
        diopiError_t error = invoke(function_, context_, call_);
        for (const Missing& each : missing_) {
            if (error == diopiSuccess) error = lend(each);
        }
        return error;
    }

 private:
    diopiError_t lend(const Missing& workspace) {
        const int64_t bytes = std::get<int64_t>(call_.args[workspace.bytes]);
        if (bytes < 0) {
            set_last_error("asked for the size of its workspace, it left " +
                           std::string(call_.row->args()[workspace.bytes].name) + " at " + std::to_string(bytes));
            return diopiErrorOccurred;
        }
        diopiTensorHandle_t memory = nullptr;
        const diopiError_t error = diopiRequireBuffer(&context_, &memory, bytes, diopi_device);
        if (error == diopiSuccess) call_.args[workspace.tensor] = context_.take(memory);
        return error;
    }

    AnyFunction function_;
    Context& context_;
    Call& call_;
    std::vector<Missing> missing_;
};

}  // namespace

diopiError_t invoke_with_workspace(AnyFunction function, Context& context, Call& call) {
    Loan loan(function, context, call);
    const diopiError_t error = loan.take();
    return error == diopiSuccess ? invoke(function, context, call) : error;
}

}  // namespace diopi
