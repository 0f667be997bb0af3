/// The current action of a worker, in a page that its parent can still read after the worker's death.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.hpp"

namespace diopi {

enum class WorkPhase : uint8_t {
    kNone,        ///< nothing was noted
    kStage,       ///< an action that is no step of a case
    kInCall,      ///< the call of a step
    kInChecks,    ///< the checks after the call
    kInHeldCall,  ///< the call, behind other work of its stream
    kInOtherCall  ///< a call of other values, strides, shapes or dtypes on the memory of the step
};

struct CrashContext {
    WorkPhase phase = WorkPhase::kNone;
    std::string step;      ///< "forward", "inplace", "backward"
    std::string function;  ///< "diopiAdd"
    std::string stage;     ///< "the first use of its device"; empty in the phases of a step
    std::string buffer;    ///< the target of a fault in a protected page: "4 bytes past the end of out"; else empty

    /// "the checks after forward (diopiAdd)" as one line of printable characters, cut after about a hundred; empty if
    /// nothing was noted.
    [[nodiscard]] std::string text() const;
};

/// Notes the current action of this process. Texts of more than about a hundred characters are cut. Safe in a signal
/// handler and from any thread; does nothing outside a worker.
void note_stage(std::string_view stage) noexcept;
/// Notes one of the phases of a step.
void note_step(WorkPhase phase, std::string_view step, std::string_view function) noexcept;
/// Notes that the action has ended.
void note_idle() noexcept;
/// Adds to the noted action.
void note_faulty_buffer(std::string_view buffer) noexcept;

/// The page of one worker. The parent makes it before the fork, the child adopts it. A stray write may have damaged
/// what the parent reads.
class CrashPage {
 public:
    CrashPage() = default;
    ~CrashPage();
    CrashPage(CrashPage&& other) noexcept;
    CrashPage& operator=(CrashPage&& other) noexcept;
    CrashPage(const CrashPage&) = delete;
    CrashPage& operator=(const CrashPage&) = delete;

    [[nodiscard]] static Result<CrashPage> create();

    /// In the child: further notes go to this page.
    void adopt() const;
    /// Begins a new item, without notes.
    void begin();
    [[nodiscard]] CrashContext read() const;

    /// Notes of the worker itself, to be read after its death.
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
