/// Merging: the journals of a run's shards become the journal of the whole.
#pragma once

#include <string>
#include <vector>

#include "core/status.hpp"
#include "journal/journal.hpp"

namespace diopi {

/// A journal and its path.
struct NamedJournal {
    std::string path;
    Journal journal;
};

/// The merged journal of all given shards.
struct Merge {
    /// In natural order of the case ids, which does not depend on --jobs or the number of shards. Its header is that of
    /// a whole run: `diopi test --resume` runs the cases that have no result.
    Journal journal;
    /// "shard 3/4 is missing"; empty when no shard is missing.
    std::vector<std::string> gaps;
    /// The journals' own notes, and one for each shard that was given twice: which journal counts.
    std::vector<std::string> notes;
};

/// The journals that `places` name: a journal, a run's folder, or a folder of such folders, in order of name. In the
/// latter, the run's folder `but` is skipped.
[[nodiscard]] Result<std::vector<NamedJournal>> read_journals(const std::vector<std::string>& places,
                                                              const std::string& but);

/// The run at a place: a run's folder, a journal, or a folder with the shards of one run, which are merged. The cases
/// are in natural order of their ids.
[[nodiscard]] Result<Merge> read_run(const std::string& place);

/// Merges the shards of one run. Bad input when they are not of one run, when two journals of one shard have different
/// verdicts, or when two shards share a case; the message names the two journals.
[[nodiscard]] Result<Merge> merge_journals(std::vector<NamedJournal> shards);

}  // namespace diopi
