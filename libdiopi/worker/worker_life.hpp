/// The child's side of a worker: items in, answers out.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>

#include "worker/work.hpp"

namespace diopi {

/// The header of every answer on the socket.
struct AnswerHead {
    uint64_t magic = 0x7361'6964'6f70'6921;
    uint64_t item = 0;
    uint64_t size = 0;
    uint64_t last = 0;
};

/// A descriptor that is closed at the end of its scope.
class Descriptor {
 public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() { close(fd_); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    [[nodiscard]] int fd() const { return fd_; }

 private:
    int fd_;
};

struct WorkerChannels {
    int socket, out, err;
    pid_t parent;
    int64_t memory_limit;
    int threads;  ///< of set_up_worker()
};

/// The main function of a worker, in the child, until the parent closes the socket. noexcept: an exception must end
/// this process and not run the destructors of the parent's frames, which would end the other workers.
[[noreturn]] void live(const WorkerChannels& channels, const Work& work) noexcept;

}  // namespace diopi
