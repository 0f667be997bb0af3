/// The standard output and standard error of a worker, read by the parent through pipes.
#pragma once

#include <cstdint>
#include <string>

#include "core/status.hpp"

namespace diopi {

/// The reading end of one pipe, and the kept part of its bytes.
class OutputPipe {
 public:
    enum class Keep { kBeginning, kEnd };

    explicit OutputPipe(Keep keep) : keep_(keep) {}
    ~OutputPipe() { close(); }
    OutputPipe(OutputPipe&& other) noexcept;
    OutputPipe& operator=(OutputPipe&& other) noexcept;
    OutputPipe(const OutputPipe&) = delete;
    OutputPipe& operator=(const OutputPipe&) = delete;

    /// Makes a new pipe; returns the writing end, which the caller closes.
    [[nodiscard]] Result<int> open();
    void close();
    /// The descriptor to poll; -1 after all writers have closed it.
    [[nodiscard]] int fd() const { return fd_; }

    /// Reads the available bytes, at most `most`. Never waits. `echo`: a descriptor that gets a
    /// copy, or -1.
    void drain(int64_t most, int echo);
    /// Discards the bytes so far.
    void begin();

    [[nodiscard]] int64_t bytes() const { return bytes_; }
    /// The first or the last 2 KiB.
    [[nodiscard]] const std::string& kept() const { return kept_; }

 private:
    void keep(const char* data, size_t size);

    Keep keep_;
    int fd_ = -1;
    int64_t bytes_ = 0;
    std::string kept_;
};

/// `wrote 14 bytes to standard output: "hello..."`; empty if there were none.
[[nodiscard]] std::string stray_output_text(const OutputPipe& output);

/// The last line that is not blank, printable and cut; empty when nothing was written.
[[nodiscard]] std::string last_line(const std::string& text);

}  // namespace diopi
