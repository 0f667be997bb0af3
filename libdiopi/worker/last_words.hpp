/// What a worker is doing, in a page that its parent can still read when the worker has died.
#pragma once

#include <string>
#include <string_view>

#include "core/status.hpp"

namespace diopi {

/// Notes in this process what it does now: "backward (diopiAddBackward)". What is longer than a hundred characters or
/// so is cut. Safe in a signal handler and from any thread; does nothing outside a worker.
void say(std::string_view words) noexcept;

/// The page of one worker. The parent makes it before the fork, the child adopts it. What the parent reads may have
/// been garbled by a stray write.
class LastWords {
 public:
    LastWords() = default;
    ~LastWords();
    LastWords(LastWords&& other) noexcept;
    LastWords& operator=(LastWords&& other) noexcept;
    LastWords(const LastWords&) = delete;
    LastWords& operator=(const LastWords&) = delete;

    [[nodiscard]] static Result<LastWords> create();

    /// In the child: say() writes here from now on.
    void adopt() const;
    /// A new item begins: nothing has been said.
    void begin();
    /// The words as one line of printable characters; empty without any.
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
    explicit LastWords(Page* page) : page_(page) {}

    Page* page_ = nullptr;
};

}  // namespace diopi
