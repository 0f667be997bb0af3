/// The report of the replay of a bundle.
#pragma once

#include <string>
#include <vector>

#include "journal/replay_record.hpp"
#include "report/console.hpp"
#include "report/summary.hpp"

namespace diopi {

/// The console's lines: the bundle's verdict, the notes, and the new result; after a failure `repeat`, the command that
/// repeats it.
[[nodiscard]] std::vector<LogMessage> messages_of(const ReplayRecord& record, const std::vector<std::string>& notes,
                                                  const std::string& repeat);

/// summary_json with the bundle's verdict and the notes.
[[nodiscard]] std::string replay_json(const ReplayRecord& record, const RunFigures& figures,
                                      const std::vector<std::string>& notes, const std::string& repeat);

}  // namespace diopi
