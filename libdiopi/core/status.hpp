/// Status and Result: the errors that a user can cause. Exceptions never leave the library.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace diopi {

/// The kind of a failure; the exit code of the program follows from it.
enum class Errc {
    kBadInput,        ///< usage, malformed or contradicting data: exit code 2
    kNotImplemented,  ///< the backend or the tool does not have it
    kFailed,          ///< the operation was tried and failed: I/O, an operator's error code
    kInternal,        ///< our own mistake: exit code 3
};

struct Error {
    Errc code = Errc::kInternal;
    std::string message;
};

/// Success, or an Error.
class [[nodiscard]] Status {
 public:
    Status() = default;
    Status(Error error) : error_(std::move(error)), ok_(false) {}
    [[nodiscard]] bool ok() const { return ok_; }
    [[nodiscard]] const Error& error() const { return error_; }
    [[nodiscard]] const std::string& message() const { return error_.message; }

 private:
    Error error_;
    bool ok_ = true;
};

/// A value, or an Error.
template <class T>
class [[nodiscard]] Result {
 public:
    Result(T value) : state_(std::move(value)) {}
    Result(Error error) : state_(std::move(error)) {}
    [[nodiscard]] bool ok() const { return state_.index() == 0; }
    [[nodiscard]] T& operator*() { return std::get<0>(state_); }
    [[nodiscard]] const T& operator*() const { return std::get<0>(state_); }
    T* operator->() { return &std::get<0>(state_); }
    const T* operator->() const { return &std::get<0>(state_); }
    [[nodiscard]] const Error& error() const { return std::get<1>(state_); }
    [[nodiscard]] Status status() const { return ok() ? Status() : Status(error()); }

 private:
    std::variant<T, Error> state_;
};

[[nodiscard]] inline Error bad_input(std::string message) { return {Errc::kBadInput, std::move(message)}; }
[[nodiscard]] inline Error failed(std::string message) { return {Errc::kFailed, std::move(message)}; }
[[nodiscard]] inline Error not_implemented(std::string message) { return {Errc::kNotImplemented, std::move(message)}; }
[[nodiscard]] inline Error internal_error(std::string message) { return {Errc::kInternal, std::move(message)}; }

}  // namespace diopi
