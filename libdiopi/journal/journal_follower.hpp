/// Reads a journal while a run appends to it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "core/status.hpp"
#include "journal/journal.hpp"

namespace diopi {

/// The file need not exist at first. An incomplete last line waits for its end, and a journal that another one has
/// replaced is read from its beginning.
class JournalFollower {
 public:
    explicit JournalFollower(std::string path) : path_(std::move(path)), lines_(path_) {}
    ~JournalFollower() { close(); }
    JournalFollower(const JournalFollower&) = delete;
    JournalFollower& operator=(const JournalFollower&) = delete;

    /// Reads what was appended since the last call, up to about `most_bytes`: true if the journal changed. An error is
    /// a file that is no journal; a later call may succeed.
    [[nodiscard]] Result<bool> poll(size_t most_bytes = kMostBytes);

    [[nodiscard]] const std::string& path() const { return path_; }
    /// Whether the journal's header has been read.
    [[nodiscard]] bool has_run() const { return lines_.has_header(); }
    /// The part of the run that has been read.
    [[nodiscard]] const Journal& journal() const { return lines_.journal(); }
    /// Whether the last poll() left something that can be read at once.
    [[nodiscard]] bool has_more() const { return has_more_; }
    /// Whether another process is writing to the journal.
    [[nodiscard]] bool is_active() const;

    /// Takes about 20 ms to decode.
    static constexpr size_t kMostBytes = size_t{1} << 20;

 private:
    /// Opens the file if it is there and not open already, or if it was replaced or cut: true if it is another one.
    bool open_newest();
    [[nodiscard]] bool is_as_before() const;
    [[nodiscard]] std::string text_at(off_t offset, size_t bytes) const;
    void close();

    std::string path_;
    JournalLines lines_;
    /// It stays open, so that no other file gets its inode number.
    int fd_ = -1;
    off_t offset_ = 0;    ///< the end of the last complete line
    std::string header_;  ///< the first line, to notice a file that was written anew
    bool has_more_ = false;
};

}  // namespace diopi
