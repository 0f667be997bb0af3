/// A file in memory, for targets whose reader takes a path.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace diopi::fuzz {

/// Removed with the object. The HDF5 library needs a real path, so a memfd is not enough.
class ScratchFile {
 public:
    explicit ScratchFile(std::string_view bytes) : path_("/dev/shm/diopi_fuzz_XXXXXX") {
        const int fd = ::mkstemp(path_.data());
        if (fd < 0 || ::write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
        ::close(fd);
    }
    ~ScratchFile() { ::unlink(path_.c_str()); }
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }

 private:
    std::string path_;
};

}  // namespace diopi::fuzz
