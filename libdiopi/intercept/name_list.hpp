/// A list of operators that a user names: regular expressions that must match a whole name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "call/call.hpp"
#include "core/status.hpp"

namespace diopi {

/// The expressions are compiled once and matched for every call.
class NameList {
 public:
    NameList();
    ~NameList();
    NameList(NameList&&) noexcept;
    NameList& operator=(NameList&&) noexcept;

    /// Parses "add.out, conv2d ,.*Scalar": items are separated by commas; blanks around them and empty items are
    /// ignored. An item that is no regular expression is bad input; the message names the position of the error.
    [[nodiscard]] static Result<NameList> parse(std::string_view text);

    [[nodiscard]] bool empty() const;
    /// Whether any item matches any name of the call. The first call of each kind is remembered.
    [[nodiscard]] bool matches(const Call& call);
    /// Items that have not matched yet, in their order.
    [[nodiscard]] std::vector<std::string> unmatched() const;

 private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace diopi
