/// Checks of option values that several subcommands share.
#pragma once

namespace CLI {
class Validator;
}  // namespace CLI

namespace diopi {

/// Accepts a number of seconds above 0, nothing else.
[[nodiscard]] CLI::Validator seconds_above_zero();

}  // namespace diopi
