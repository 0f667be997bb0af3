/// What a worker is doing, in a page that its parent can still read when the worker has died.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.hpp"

namespace diopi {

enum class WorkPhase : uint8_t {
    kNone,       ///< nothing that was noted
    kStage,      ///< something that is no step of a case
    kInCall,     ///< the call of a step
    kInChecks,   ///< the checks after the call
    kInHeldCall  ///< the call, behind other work of its stream
};

struct CrashContext {
    WorkPhase phase = WorkPhase::kNone;
    std::string step;      ///< "forward", "inplace", "backward"
    std::string function;  ///< "diopiAdd"
    std::string stage;     ///< "the first use of its device"; empty in the phases of a step
    std::string buffer;    ///< what a fault in a protected page hit: "4 bytes past the end of out"; else empty

    /// "the checks after forward (diopiAdd)" as one line of printable characters, cut after a hundred or so; empty
    /// where nothing was noted.
    [[nodiscard]] std::string text() const;
};

/// Notes in this process what it does now. Texts of more than a hundred characters or so are cut. Safe in a signal
/// handler and from any thread; does nothing outside a worker.
void note_stage(std::string_view stage) noexcept;
/// One of the phases of a step.
void note_step(WorkPhase phase, std::string_view step, std::string_view function) noexcept;
/// What was noted has come to its end.
void note_idle() noexcept;
/// Adds to what was noted.
void note_faulty_buffer(std::string_view buffer) noexcept;

/// The page of one worker. The parent makes it before the fork, the child adopts it. What the parent reads may have
/// been garbled by a stray write.
class CrashPage {
 public:
    CrashPage() = default;
    ~CrashPage();
    CrashPage(CrashPage&& other) noexcept;
    CrashPage& operator=(CrashPage&& other) noexcept;
    CrashPage(const CrashPage&) = delete;
    CrashPage& operator=(const CrashPage&) = delete;

    [[nodiscard]] static Result<CrashPage> create();

    /// In the child: what is noted goes here from now on.
    void adopt() const;
    /// A new item begins: nothing has been noted.
    void begin();
    [[nodiscard]] CrashContext read() const;

    /// Marks of the worker itself, for the time after its death.
    static void note_out_of_memory() noexcept;
    static void note_lost_socket() noexcept;
    static void note_begun() noexcept;
    [[nodiscard]] bool out_of_memory() const;
    [[nodiscard]] bool lost_socket() const;
    [[nodiscard]] bool begun() const;

    struct Page;

 private:
    explicit CrashPage(Page* page) : page_(page) {}

    Page* page_ = nullptr;
};

}  // namespace diopi
