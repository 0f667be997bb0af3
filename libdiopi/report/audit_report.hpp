/// The report of the audit of a vendor's library.
#pragma once

#include <string>

#include "backend/library_audit.hpp"
#include "report/terminal.hpp"

namespace diopi {

/// Operators by name with their implemented and missing functions, then a line per finding, the worst first.
/// `is_quiet`: without operators, and without remarks.
[[nodiscard]] std::string audit_report(const LibraryAudit& audit, bool is_quiet, const Screen& screen);

[[nodiscard]] std::string audit_json(const LibraryAudit& audit);

}  // namespace diopi
