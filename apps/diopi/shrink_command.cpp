#include "shrink_command.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cases/case_text.hpp"

namespace diopi {

namespace {

constexpr double kLineEvery_s = 1;

class Shrinking {
 public:
    explicit Shrinking(const ShrinkCommand& command) : command_(command), out_(command.common.json ? stderr : stdout) {}

    Status run() {
        const FailuresToShrink failures = choose_failures(command_.results);
        for (const CaseResult* result : failures.chosen) {
            const auto found =
                std::ranges::find_if(command_.cases, [&](const Case& c) { return c.id() == result->case_id; });
            if (found == command_.cases.end() || interrupted()) continue;
            if (Status s = shrink_one(*found, result->verdict); !s.ok()) return s;
        }
        if (failures.left_out > 0) {
            fmt::print(out_, "\n{} more failing case{} not shrunk; --case ID --shrink shrinks one\n", failures.left_out,
                       failures.left_out == 1 ? " was" : "s were");
        }
        return {};
    }

 private:
    Status shrink_one(const Case& c, Verdict verdict) {
        RunWorkers workers = workers_of(command_.conformance);
        ShrinkOptions options;
        options.verdict = verdict;
        options.pool = workers.pool;
        options.worker = std::move(workers.worker);
        options.seconds = command_.seconds;
        options.prepare = command_.prepare;
        options.progress = [&](const ShrinkProgress& progress) { tell(progress); };
        fmt::print(out_, "\nshrinking {}: {}\n", c.id(), forms_of(c));
        std::fflush(out_);
        last_line_s_ = 0;
        const auto shrunk = shrink(c, options);
        if (!shrunk.ok()) {
            fmt::print(out_, "  not shrunk: {}\n", shrunk.error().message);
            return {};
        }
        const auto file = write_shrunk(command_.common.run_folder, c.id(), *shrunk);
        if (file.ok()) print(c, *shrunk, *file);
        return file.status();
    }

    void tell(const ShrinkProgress& progress) {
        if (command_.common.quiet || progress.seconds - last_line_s_ < kLineEvery_s) return;
        last_line_s_ = progress.seconds;
        fmt::print(out_, "  {} tried, {} accepted, {:.0f} s: {}\n", progress.tried, progress.accepted, progress.seconds,
                   forms_of(progress.smallest));
        std::fflush(out_);
    }

    void print(const Case& c, const Shrunk& shrunk, const std::string& file) const {
        fmt::print(out_, "  {}\n", describe_change(c, shrunk.smallest));
        for (const CaseTensor& tensor : shrunk.smallest.tensors) {
            if (!tensor.absent) fmt::print(out_, "  {} = {}\n", tensor.name, values_of(tensor));
        }
        fmt::print(out_, "  {}: {}\n", name(shrunk.after.verdict), shrunk.after.reason);
        fmt::print(out_, "  {} tried, {} accepted, {:.1f} s{}\n", shrunk.tried, shrunk.accepted, shrunk.seconds,
                   shrunk.finished ? "" : "; stopped early: try a longer --shrink-time");
        fmt::print(out_, "  diopi test {}\n", command_.repeat(shrunk, file));
        std::fflush(out_);
    }

    const ShrinkCommand& command_;
    std::FILE* out_;
    double last_line_s_ = 0;
};

}  // namespace

Status run_shrink_command(const ShrinkCommand& command) { return Shrinking(command).run(); }

}  // namespace diopi
