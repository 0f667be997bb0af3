#include "worker/output_capture.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "file/atomic_file.hpp"
#include "worker/printable.hpp"

namespace diopi {

namespace {

constexpr size_t kKept = 2048;
constexpr size_t kShownOutput = 60;
constexpr size_t kShownLine = 240;

}  // namespace

OutputPipe::OutputPipe(OutputPipe&& other) noexcept : keep_(other.keep_) { *this = std::move(other); }

OutputPipe& OutputPipe::operator=(OutputPipe&& other) noexcept {
    std::swap(keep_, other.keep_);
    std::swap(fd_, other.fd_);
    std::swap(bytes_, other.bytes_);
    std::swap(kept_, other.kept_);
    return *this;
}

Result<int> OutputPipe::open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return failed(std::string("cannot make a pipe for a worker: ") + std::strerror(errno) +
                      "; run fewer at a time (--jobs) or raise the limit of open files (ulimit -n)");
    }
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    close();
    fd_ = ends[0];
    return ends[1];
}

void OutputPipe::close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

void OutputPipe::drain(int64_t most, int echo) {
    char buffer[1 << 14];
    while (fd_ >= 0 && most > 0) {
        const ssize_t n = ::read(fd_, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) return close();
        most -= n;
        bytes_ += n;
        keep(buffer, static_cast<size_t>(n));
        if (echo >= 0) (void)write_all(echo, {buffer, static_cast<size_t>(n)}, "standard error");
    }
}

void OutputPipe::begin() {
    bytes_ = 0;
    kept_.clear();
}

void OutputPipe::keep(const char* data, size_t size) {
    if (keep_ == Keep::kBeginning) {
        kept_.append(data, std::min(size, kKept - kept_.size()));
        return;
    }
    kept_.append(data, size);
    if (kept_.size() > kKept) kept_.erase(0, kept_.size() - kKept);
}

std::string stray_output_text(const OutputPipe& output) {
    if (output.bytes() == 0) return {};
    return fmt::format("wrote {} byte{} to standard output: \"{}\"", output.bytes(), output.bytes() == 1 ? "" : "s",
                       printable(output.kept(), kShownOutput));
}

std::string last_line(const std::string& text) {
    const size_t end = text.find_last_not_of(" \t\r\n");
    if (end == std::string::npos) return {};
    const size_t before = text.find_last_of('\n', end);
    const size_t begin = before == std::string::npos ? 0 : before + 1;
    return printable(std::string_view(text).substr(begin, end + 1 - begin), kShownLine);
}

}  // namespace diopi
