/// --record FILE: the calls that a subcommand runs, as a capture (docs/capture.md).
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "intercept/recorder.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace diopi {

struct RecordFlags {
    std::string file;     ///< --record; empty: nothing is recorded
    bool values = false;  ///< --record-values
};

/// Adds both flags; returns --record.
CLI::Option* add_record_options(CLI::App& command, RecordFlags& flags);

/// The recording of a subcommand. Its tool is the outermost one in a chain of this process or of workers that are
/// forked from it.
class Recording {
 public:
    /// Records nothing.
    Recording() = default;
    /// `command` is written to the capture: "diopi test". A file that cannot be written is an error at once.
    [[nodiscard]] static Result<Recording> create(const RecordFlags& flags, const std::string& command);

    /// Null if nothing is recorded.
    [[nodiscard]] Interceptor* tool() const { return state_ == nullptr ? nullptr : &state_->recorder; }
    /// Called in the process of the tool: stores the calls since the last time under item number `item`. Returns why
    /// they are not recorded, if finish() will not report it; else an empty text.
    [[nodiscard]] std::string end_item(size_t item);
    /// Writes the files, and prints on standard error what they contain and how many items are missing because their
    /// workers died. Nothing is written after an interruption.
    Status finish(size_t lost = 0);

 private:
    struct State {
        State(CaptureSpool made, const RecordFlags& f) : spool(std::move(made)), flags(f) {}
        CaptureSpool spool;
        RecordFlags flags;
        Recorder recorder{flags.values ? &spool : nullptr};
        Capture head;
    };
    std::unique_ptr<State> state_;
};

}  // namespace diopi
