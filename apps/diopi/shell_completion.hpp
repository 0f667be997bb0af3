/// Scripts that complete the commands in a shell, and the manual page, made from the options that the program has.
#pragma once

#include <string>

#include "core/status.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace diopi {

/// The script for "bash", "zsh" or "fish", or the page for "man". Names of operators, models and cases are asked of
/// `diopi list` when they are completed.
[[nodiscard]] Result<std::string> completion_script(const std::string& shell, const CLI::App& app);

}  // namespace diopi
