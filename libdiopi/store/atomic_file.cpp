#include "store/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

namespace diopi {

namespace {

Error io_error(std::string_view what, const std::string& path, int code) {
    const char* advice = "";
    if (code == ENOSPC || code == EDQUOT || code == EFBIG) advice = "; free some space or choose another folder";
    if (code == EACCES || code == EROFS) advice = "; choose a folder that you may write to";
    return failed(fmt::format("cannot {} {}: {}{}", what, path, std::strerror(code), advice));
}

/// A rename survives a power cut only once its folder is on the disk. Some file systems cannot sync a folder: no
/// matter.
void sync_folder_of(const std::string& path) {
    std::string folder = std::filesystem::path(path).parent_path().string();
    if (folder.empty()) folder = ".";
    const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    ::fsync(fd);
    ::close(fd);
}

}  // namespace

std::string part_path(const std::string& path) { return path + ".part"; }

Status make_parent_folder(const std::string& path) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (folder.empty()) return {};
    std::error_code code;
    std::filesystem::create_directories(folder, code);
    if (code) return io_error("create the folder", folder.string(), code.value());
    return {};
}

Status publish_part(const std::string& path) {
    const std::string part = part_path(path);
    const int fd = ::open(part.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return io_error("open", part, errno);
    const int synced = ::fsync(fd);
    const int code = errno;
    ::close(fd);
    if (synced != 0) return io_error("write", part, code);
    if (std::rename(part.c_str(), path.c_str()) != 0) return io_error("rename " + part + " to", path, errno);
    sync_folder_of(path);
    return {};
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

Status write_file_atomically(const std::string& path, std::string_view content) {
    if (Status s = make_parent_folder(path); !s.ok()) return s;
    const std::string part = part_path(path);
    const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return io_error("create", part, errno);
    Status status = write_all(fd, content, part);
    if (::close(fd) != 0 && status.ok()) status = io_error("write", part, errno);
    if (status.ok()) status = publish_part(path);
    if (!status.ok()) ::unlink(part.c_str());
    return status;
}

Result<std::string> read_text_file(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
    if (!file) return io_error("read", path, errno);
    std::string text;
    char buffer[1 << 16];
    while (const size_t got = std::fread(buffer, 1, sizeof buffer, file.get())) text.append(buffer, got);
    if (std::ferror(file.get()) != 0) return io_error("read", path, errno);
    return text;
}

}  // namespace diopi
