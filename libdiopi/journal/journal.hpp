/// The run journal: `<run>/journal.jsonl`, a header line and one JSON line per finished case. It survives kill -9.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/status.hpp"
#include "journal/record.hpp"

namespace diopi {

/// The description of a run.
struct RunHeader {
    std::vector<std::string> command;  ///< argv
    std::string repeat;  ///< the options that must follow `diopi test --case ID` to repeat a case of the run
    std::string backend;
    uint64_t seed = 0;
    std::string started;             ///< ISO 8601 with offset; if empty, create() sets it to the present
    int64_t cases = 0;               ///< planned
    std::string shard = {};          ///< "2/4"; empty for a whole run
    int64_t selection_cases = 0;     ///< cases of the whole selection of a shard; 0 in journals of older programs
    std::string selection = {};      ///< checksum of the ids of the whole selection: equal for all shards of one run
    std::string device_config = {};  ///< checksum of the device configuration; empty: there was none
    std::string environment = {};    ///< machine_text() of the run
};

/// The contents of a journal file.
struct Journal {
    RunHeader header;
    std::vector<CaseResult> results;  ///< one per case, in the order of first appearance; a later result replaces
    std::vector<std::string> notes;   ///< the file's lines that could not be read, and are left out
};

/// A journal that is put together line by line.
class JournalLines {
 public:
    /// `path` is for messages.
    explicit JournalLines(std::string path) : path_(std::move(path)) {}

    /// Adds a line without its newline. Bad input if the first one is no header that this program reads; a later one
    /// that cannot be read is counted.
    Status add(std::string_view line);
    [[nodiscard]] bool has_header() const { return has_header_; }
    /// Without notes.
    [[nodiscard]] const Journal& journal() const { return journal_; }
    /// The journal, with a note on lines that could not be read.
    [[nodiscard]] Journal take();

 private:
    std::string path_;
    Journal journal_;
    bool has_header_ = false;
    std::unordered_map<std::string, size_t> positions_;  ///< of the results, by case
    int64_t damaged_ = 0;
};

/// Appends to a journal; one per run folder at a time.
class JournalWriter {
 public:
    /// Starts a new journal in `folder`, replacing a former one unless another process is writing to it. It appears
    /// with all of `results`, or not at all.
    [[nodiscard]] static Result<JournalWriter> create(const std::string& folder, RunHeader header,
                                                      const std::vector<CaseResult>& results = {});
    /// Continues the existing journal; removes an incomplete last line.
    [[nodiscard]] static Result<JournalWriter> resume(const std::string& folder);
    ~JournalWriter();
    JournalWriter(JournalWriter&& other) noexcept;
    JournalWriter& operator=(JournalWriter&& other) noexcept;
    JournalWriter(const JournalWriter&) = delete;
    JournalWriter& operator=(const JournalWriter&) = delete;

    /// Adds one line with one write(2). On an error (a full disk) the journal is cut back to what it was.
    Status append(const CaseResult& result);

 private:
    JournalWriter(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

    std::string path_;
    int fd_ = -1;
};

/// ISO 8601 with offset: "2022-09-29T16:40:40+0800".
[[nodiscard]] std::string present_time();

/// The path `folder`/journal.jsonl.
[[nodiscard]] std::string journal_path(const std::string& folder);

/// Reads a journal of a run that is finished, interrupted or still active.
[[nodiscard]] Result<Journal> read_journal(const std::string& path);

/// A line of the journal, without the newline; NaN and infinities are "nan", "inf", "-inf".
[[nodiscard]] std::string to_json_line(const CaseResult& result);
/// The result in such a line; nullopt for any other line.
[[nodiscard]] std::optional<CaseResult> from_json_line(std::string_view line);

}  // namespace diopi
