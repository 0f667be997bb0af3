#include "record_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "options.hpp"
#include "worker/worker_pool.hpp"

namespace diopi {

CLI::Option* add_record_options(CLI::App& command, RecordFlags& flags) {
    auto* record =
        command.add_option("--record", flags.file, "write the calls as a capture (docs/capture.md)")->type_name("FILE");
    command
        .add_flag("--record-values", flags.values, "keep the values of inputs and outputs beside it, in an HDF5 file")
        ->needs(record);
    return record;
}

Result<Recording> Recording::create(const RecordFlags& flags, const std::string& command) {
    Recording recording;
    if (flags.file.empty()) return recording;
    const std::filesystem::path path(flags.file);
    if (path.extension() == ".h5") {
        return bad_input("--record " + flags.file + " names the JSON file of the capture; write " +
                         std::filesystem::path(path).replace_extension(".json").string() +
                         ", and --record-values puts the values beside it");
    }
    if (Status s = check_output_file(flags.file); !s.ok()) return bad_input("--record: " + s.message());
    auto spool = CaptureSpool::create(flags.file);
    if (!spool.ok()) return Error{spool.error().code, "--record: " + spool.error().message};
    recording.state_ = std::make_unique<State>(std::move(*spool), flags);
    recording.state_->head.name = path.stem().string();
    recording.state_->head.generator = command;
    return recording;
}

std::string Recording::end_item(size_t item) {
    if (state_ == nullptr) return "";
    const auto capture = state_->recorder.take();
    const Status s = capture.ok() ? state_->spool.add(item, *capture) : capture.status();
    return s.ok() || state_->spool.is_broken() ? "" : "not recorded: " + s.message();
}

Status Recording::finish(size_t lost) {
    if (state_ == nullptr) return {};
    const std::string& file = state_->flags.file;
    if (interrupted()) {
        fmt::print(stderr, "diopi: interrupted: {} was not written\n", file);
        return {};
    }
    const auto written = state_->spool.publish(state_->head, state_->flags.values);
    if (!written.ok()) return written.status();
    fmt::print(stderr, "diopi: recorded {} call{} in {}\n", written->calls, written->calls == 1 ? "" : "s", file);
    if (lost > 0) {
        fmt::print(stderr, "diopi: without those of {} case{}, whose workers ended early\n", lost,
                   lost == 1 ? "" : "s");
    }
    if (!written->without_function.empty()) {
        fmt::print(stderr,
                   "diopi: a capture has no sparse tensors: recorded without a function, with made-up results: {}\n",
                   fmt::join(written->without_function, ", "));
    }
    return {};
}

}  // namespace diopi
