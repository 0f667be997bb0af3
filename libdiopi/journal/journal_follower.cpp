#include "journal/journal_follower.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace diopi {

Result<bool> JournalFollower::poll(size_t most_bytes) {
    has_more_ = false;
    const bool is_other = open_newest();
    if (fd_ < 0) return is_other;
    std::string text = text_at(offset_, most_bytes);
    // A line that is longer than the limit.
    for (size_t bytes = most_bytes; text.size() == bytes && text.find('\n') == std::string::npos;) {
        bytes *= 2;
        text = text_at(offset_, bytes);
    }
    const size_t whole = text.rfind('\n') + 1;
    has_more_ = text.size() >= most_bytes && whole > 0;
    for (std::string_view rest(text.data(), whole); !rest.empty();) {
        const size_t end = rest.find('\n');
        if (header_.empty()) header_ = rest.substr(0, end + 1);
        if (Status s = lines_.add(rest.substr(0, end)); !s.ok()) {
            close();
            return s.error();
        }
        rest.remove_prefix(end + 1);
    }
    offset_ += static_cast<off_t>(whole);
    return is_other || whole > 0;
}

bool JournalFollower::is_active() const {
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return fd_ >= 0 && ::fcntl(fd_, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool JournalFollower::open_newest() {
    if (fd_ >= 0 && is_as_before()) return false;
    const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    const bool had_run = has_run();
    close();
    fd_ = fd;
    return had_run;
}

bool JournalFollower::is_as_before() const {
    struct stat opened = {}, present = {};
    // A file that was removed stays as it was last seen.
    if (::stat(path_.c_str(), &present) != 0 || ::fstat(fd_, &opened) != 0) return true;
    if (opened.st_dev != present.st_dev || opened.st_ino != present.st_ino) return false;
    return opened.st_size >= offset_ && text_at(0, header_.size()) == header_;
}

std::string JournalFollower::text_at(off_t offset, size_t bytes) const {
    std::string text(bytes, '\0');
    size_t done = 0;
    while (done < bytes) {
        const ssize_t n = ::pread(fd_, text.data() + done, bytes - done, offset + static_cast<off_t>(done));
        if (n <= 0) break;
        done += static_cast<size_t>(n);
    }
    text.resize(done);
    return text;
}

void JournalFollower::close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    offset_ = 0;
    header_.clear();
    lines_ = JournalLines(path_);
}

}  // namespace diopi
