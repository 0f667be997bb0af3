#include "file/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "core/input_file.hpp"

namespace diopi {

namespace {

Error io_error(std::string_view what, const std::string& path, int code) {
    const char* advice = "";
    if (code == ENOSPC || code == EDQUOT) advice = "; free some space or choose another folder";
    if (code == EFBIG) advice = "; raise the limit of file sizes (ulimit -f)";
    if (code == EACCES || code == EROFS) advice = "; choose a folder that you may write to";
    return failed(fmt::format("cannot {} {}: {}{}", what, path, std::strerror(code), advice));
}

std::string folder_of(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

std::string part_path(const std::string& path) { return path + ".part"; }

/// The name by which an open file without a name is known.
std::string path_of(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

/// A rename survives a power cut only once its folder is on the disk. Some file systems cannot sync a folder; that is
/// ignored.
void sync_folder_of(const std::string& path) {
    const int fd = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    ::fsync(fd);
    ::close(fd);
}

}  // namespace

Status make_parent_folder(const std::string& path) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (folder.empty()) return {};
    std::error_code code;
    std::filesystem::create_directories(folder, code);
    if (code) return io_error("create the folder", folder.string(), code.value());
    return {};
}

Result<PendingFile> PendingFile::create(const std::string& path, Name name) {
    std::error_code code;
    const auto former = std::filesystem::status(path, code);
    if (std::filesystem::is_other(former)) {
        return failed(path + " is a device or a pipe, which the finished file would replace; name a file");
    }
    if (name == Name::kNoneIfPossible) {
        const int fd = ::open(folder_of(path).c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0666);
        if (fd >= 0 && ::access(path_of(fd).c_str(), W_OK) == 0) return PendingFile(path, fd, false);
        if (fd >= 0) ::close(fd);
        // Other file systems and old kernels give vague errors; creating a file with a name gives a clear one.
    }
    const int fd = ::open(part_path(path).c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return io_error("create", path, errno);
    return PendingFile(path, fd, true);
}

PendingFile& PendingFile::operator=(PendingFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(fd_, other.fd_);
    std::swap(named_, other.named_);
    return *this;
}

std::string PendingFile::open_path() const { return named_ ? part_path(path_) : path_of(fd_); }

Status PendingFile::publish() {
    Status status = ::fsync(fd_) == 0 ? give_name() : Status(io_error("write", path_, errno));
    if (status.ok()) named_ = false;
    discard();
    if (status.ok()) sync_folder_of(path_);
    return status;
}

/// A nameless file can take a free name only: to replace a former file, it takes a second name and is renamed.
Status PendingFile::give_name() {
    const std::string part = part_path(path_);
    if (!named_) {
        const std::string source = path_of(fd_);
        const auto link_to = [&](const std::string& name) {
            return ::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
        };
        if (link_to(path_)) return {};
        if (errno != EEXIST) return io_error("name", path_, errno);
        // A process killed between the next two steps may have left a file of this name.
        remove_leftover_of(path_);
        if (!link_to(part)) return io_error("name", part, errno);
        named_ = true;
    }
    if (std::rename(part.c_str(), path_.c_str()) != 0) return io_error("rename " + part + " to", path_, errno);
    return {};
}

void PendingFile::discard() {
    if (fd_ < 0) return;
    if (named_) ::unlink(part_path(path_).c_str());
    ::close(fd_);
    fd_ = -1;
}

Status write_all(int fd, std::string_view bytes, const std::string& path) {
    const size_t wanted = bytes.size();
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return io_error(fmt::format("write {} bytes to", wanted), path, errno);
        bytes.remove_prefix(static_cast<size_t>(written));
    }
    return {};
}

void remove_leftover_of(const std::string& path) { ::unlink(part_path(path).c_str()); }

Status write_file_atomically(const std::string& path, std::string_view content) {
    if (Status s = make_parent_folder(path); !s.ok()) return s;
    auto file = PendingFile::create(path);
    if (!file.ok()) return file.status();
    if (Status s = write_all(file->fd(), content, path); !s.ok()) return s;
    return file->publish();
}

Result<std::string> read_text_file(const std::string& path) {
    if (Status s = check_input_file(path); !s.ok()) return s.error();
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
    if (!file) return io_error("read", path, errno);
    std::string text;
    char buffer[1 << 16];
    while (const size_t got = std::fread(buffer, 1, sizeof buffer, file.get())) text.append(buffer, got);
    if (std::ferror(file.get()) != 0) return io_error("read", path, errno);
    return text;
}

}  // namespace diopi
