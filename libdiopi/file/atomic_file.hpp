/// Files that are either complete or absent: written without a name, synced, then renamed.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/status.hpp"

namespace diopi {

/// Creates the folder of `path` with all its parents.
Status make_parent_folder(const std::string& path);

/// A file under construction. If the file system supports it, it has no name until publish(). Elsewhere, and in the
/// moment in which publish() replaces a former file, it is `path`.part, which only a kill leaves behind.
class PendingFile {
 public:
    enum class Name { kNoneIfPossible, kPart };

    /// An empty file in the folder of `path`, which must exist.
    [[nodiscard]] static Result<PendingFile> create(const std::string& path, Name name = Name::kNoneIfPossible);
    ~PendingFile() { discard(); }
    PendingFile(PendingFile&& other) noexcept { *this = std::move(other); }
    PendingFile& operator=(PendingFile&& other) noexcept;
    PendingFile(const PendingFile&) = delete;
    PendingFile& operator=(const PendingFile&) = delete;

    /// The descriptor, open for writing at the beginning.
    [[nodiscard]] int fd() const { return fd_; }
    /// A path by which a library can open the file meanwhile.
    [[nodiscard]] std::string open_path() const;
    /// Syncs the complete file to the disk and gives it its name. A former file of that name is replaced in one step;
    /// on an error it stays as it was, and the new one is gone.
    Status publish();
    /// Discards the file.
    void discard();

 private:
    PendingFile(std::string path, int fd, bool named) : path_(std::move(path)), fd_(fd), named_(named) {}
    Status give_name();

    std::string path_;
    int fd_ = -1;
    bool named_ = false;
};

/// Removes the `path`.part that a killed process may have left; nobody else may be writing to `path`.
void remove_leftover_of(const std::string& path);

/// Writes `content` to `path` in one step: on any error, a full disk included, the former file stays as it was.
Status write_file_atomically(const std::string& path, std::string_view content);

/// The text of the whole file.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path);

/// Writes all bytes to a descriptor, despite interruptions and short writes; `path` is for the message.
Status write_all(int fd, std::string_view bytes, const std::string& path);

}  // namespace diopi
