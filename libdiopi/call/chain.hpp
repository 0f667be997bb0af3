/// The chain: every call goes through the interceptors in their order, then to the backend. Every tool is one.
#pragma once

#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "call/call.hpp"
#include "runtime/context.hpp"

namespace diopi {

/// The result of a call.
struct Outcome {
    diopiError_t error = diopiSuccess;
    /// The backend's own message when error is not diopiSuccess.
    std::string message;
    [[nodiscard]] bool ok() const { return error == diopiSuccess; }
    /// Whether nobody implements the function, at all or for these arguments.
    [[nodiscard]] bool is_declined() const { return error == diopiNoImplement || error == diopiDtypeNotSupported; }
};

class Next;

/// One tool around the calls: it may inspect the call before and after, change it, or answer it itself.
class Interceptor {
 public:
    virtual ~Interceptor() = default;
    virtual Outcome around(Call& call, Context& context, const Next& next) = 0;
};

/// The rest of the chain, as an interceptor sees it.
class Next {
 public:
    Next(const Backend& backend, Interceptor* const* begin, Interceptor* const* end)
        : backend_(&backend), begin_(begin), end_(end) {}
    [[nodiscard]] Outcome operator()(Call& call, Context& context) const;
    [[nodiscard]] const Backend& backend() const { return *backend_; }

 private:
    const Backend* backend_;
    Interceptor* const* begin_;
    Interceptor* const* end_;
};

class Chain {
 public:
    explicit Chain(const Backend& backend) : backend_(&backend) {}
    /// Adds an interceptor behind those that are there. The chain does not own it.
    void add(Interceptor& interceptor) { interceptors_.push_back(&interceptor); }
    [[nodiscard]] Outcome run(Call& call, Context& context) const;

 private:
    const Backend* backend_;
    std::vector<Interceptor*> interceptors_;
};

}  // namespace diopi
