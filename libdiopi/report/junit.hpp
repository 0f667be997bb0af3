/// JUnit XML for Jenkins, GitLab and Bazel: one testsuite per operator, one testcase per case.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"
#include "journal/record.hpp"

namespace diopi {

/// Text for XML 1.0: markup escaped, line breaks kept as references, and characters that XML cannot hold (control
/// characters, invalid UTF-8) removed or replaced by "?".
[[nodiscard]] std::string xml_escaped(std::string_view text);

/// The document. `options` is appended to each repeat command.
[[nodiscard]] std::string junit_xml(const std::vector<CaseResult>& results, const std::string& options);

/// Writes the document in one step.
Status write_junit(const std::string& path, const std::vector<CaseResult>& results, const std::string& options);

}  // namespace diopi
