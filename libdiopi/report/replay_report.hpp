/// How the replay of a bundle is read.
#pragma once

#include <string>
#include <vector>

#include "journal/replay_record.hpp"
#include "report/console.hpp"
#include "report/summary.hpp"

namespace diopi {

/// What the console says: what the bundle has, the notes, and what came of it now; behind a failure `repeat`, the
/// command that gets it again.
[[nodiscard]] std::vector<LogMessage> messages_of(const ReplayRecord& record, const std::vector<std::string>& notes,
                                                  const std::string& repeat);

/// summary_json with what the bundle has and the notes.
[[nodiscard]] std::string replay_json(const ReplayRecord& record, const RunFigures& figures,
                                      const std::vector<std::string>& notes, const std::string& repeat);

}  // namespace diopi
