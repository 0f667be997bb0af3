/// The current work of a worker, in a page that its parent can still read after the worker has died.
#pragma once

#include <string>
#include <string_view>

#include "core/status.hpp"

namespace diopi {

/// Sets the current work of this process, such as "backward (diopiAddBackward)". Longer texts are cut after about a
/// hundred characters. Safe in a signal handler and from any thread; does nothing outside a worker.
void set_crash_context(std::string_view words) noexcept;

/// The page of one worker. The parent makes it before the fork, the child adopts it. A stray write may have damaged
/// the text that the parent reads.
class CrashContext {
 public:
    CrashContext() = default;
    ~CrashContext();
    CrashContext(CrashContext&& other) noexcept;
    CrashContext& operator=(CrashContext&& other) noexcept;
    CrashContext(const CrashContext&) = delete;
    CrashContext& operator=(const CrashContext&) = delete;

    [[nodiscard]] static Result<CrashContext> create();

    /// In the child: set_crash_context() writes here from now on.
    void adopt() const;
    /// A new item begins: the context is empty.
    void begin();
    /// The context as one line of printable characters.
    [[nodiscard]] std::string read() const;

    /// Marks of the worker itself, for the time after its death.
    static void note_out_of_memory() noexcept;
    static void note_lost_socket() noexcept;
    static void note_begun() noexcept;
    [[nodiscard]] bool out_of_memory() const;
    [[nodiscard]] bool lost_socket() const;
    [[nodiscard]] bool begun() const;

    struct Page;

 private:
    explicit CrashContext(Page* page) : page_(page) {}

    Page* page_ = nullptr;
};

}  // namespace diopi
