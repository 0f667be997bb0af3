#include "journal/journal.hpp"

#include "fuzz/scratch_file.hpp"
#include "fuzz/targets.hpp"

namespace diopi::fuzz {

/// A run journal: it is read, and each of its results is written again.
bool journal(std::string_view bytes) {
    const ScratchFile file(bytes);
    const auto journal = read_journal(file.path());
    if (!journal.ok()) return false;
    for (const CaseResult& result : journal->results) {
        // A result that was read can be written, and stays the same.
        const std::string line = to_json_line(result);
        const auto again = from_json_line(line);
        if (!again || to_json_line(*again) != line) __builtin_trap();
    }
    return true;
}

}  // namespace diopi::fuzz
