#include "conformance/generate.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <new>
#include <optional>
#include <set>

#include "baseline/manifest.hpp"
#include "file/checksum.hpp"
#include "step/steps.hpp"
#include "worker/message.hpp"

namespace diopi {

namespace {

constexpr const char* kProvenance = "diopi 1.0.0 reference";

Status add_inputs(const CaseSteps& steps, bool self_contained, const Case& c, CaseBaseline& baseline) {
    for (size_t t = 0; t < steps.tensors().size(); ++t) {
        const auto& [name, list] = steps.tensors()[t];
        for (size_t i = 0; i < list.size(); ++i) {
            const std::string label = c.tensors[t].is_list ? name + "." + std::to_string(i) : name;
            auto checksum = checksum_of_tensor(*list[i]);
            if (!checksum.ok()) return checksum.status();
            baseline.input_hashes.emplace_back(label, std::move(*checksum));
            if (self_contained) baseline.inputs.push_back({label, list[i], list[i]->dtype});
        }
    }
    return {};
}

/// The cases of one file, in their order.
struct FilePlan {
    std::string path;
    std::vector<const Case*> cases;
    /// Checksum of the cases' contents: a file with other contents must be made again.
    [[nodiscard]] std::string checksum(const GenerateOptions& options) const {
        Checksum sum;
        for (const Case* c : cases) {
            const std::string text = c->fingerprint();
            sum.update(text.data(), text.size() + 1);
        }
        sum.update(&options.self_contained, sizeof options.self_contained);
        return sum.hex();
    }
};

std::vector<FilePlan> plan_files(const std::vector<Case>& cases, const GenerateOptions& options) {
    std::map<std::string, FilePlan> files;
    for (const Case& c : cases) {
        const std::string path = baseline_path(options.data, c.suite, c.op);
        files[path].path = path;
        files[path].cases.push_back(&c);
    }
    std::vector<FilePlan> out;
    for (auto& [path, plan] : files) out.push_back(std::move(plan));
    return out;
}

/// A number that the workers count up and this process reads; the workers inherit its page.
class SharedCount {
 public:
    SharedCount()
        : page_(mmap(nullptr, sizeof(std::atomic<int64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
          count_(page_ == MAP_FAILED ? nullptr : new (page_) std::atomic<int64_t>(0)) {}
    ~SharedCount() {
        if (count_ != nullptr) munmap(page_, sizeof(std::atomic<int64_t>));
    }
    SharedCount(const SharedCount&) = delete;
    SharedCount& operator=(const SharedCount&) = delete;

    void add_one() {
        if (count_ != nullptr) count_->fetch_add(1, std::memory_order_relaxed);
    }
    [[nodiscard]] int64_t value() const { return count_ == nullptr ? 0 : count_->load(std::memory_order_relaxed); }

 private:
    void* page_;
    std::atomic<int64_t>* count_;
};

/// Computes and writes one file in a worker.
class FileWriter {
 public:
    FileWriter(const FilePlan& plan, const GenerateOptions& options, SharedCount& computed)
        : plan_(plan), options_(options), computed_(computed) {
        made_.path = plan.path;
    }

    GeneratedFile write() {
        Status s = write_cases();
        if (s.ok() && writer_) s = keep_former_cases();
        if (s.ok() && writer_) s = writer_->finish();
        if (!s.ok()) {
            made_.error = s.message();
            made_.cases = 0;
            return made_;
        }
        std::error_code error;
        if (writer_) made_.bytes = static_cast<int64_t>(std::filesystem::file_size(plan_.path, error));
        return made_;
    }

 private:
    Status write_cases() {
        for (const Case* c : plan_.cases) {
            auto baseline = make_baseline(*c, options_.seed, options_.self_contained);
            computed_.add_one();
            if (!baseline.ok() && baseline.error().code == Errc::kNotImplemented) {
                ++made_.left_out;
                continue;
            }
            if (!baseline.ok()) return failed(c->id() + ": " + baseline.error().message);
            if (Status s = add(case_key(c->id()), *baseline); !s.ok()) return s;
            ++made_.cases;
        }
        return {};
    }

    Status add(const std::string& key, const CaseBaseline& baseline) {
        if (!writer_) {
            auto opened = BaselineWriter::create(plan_.path, options_.seed, kProvenance);
            if (!opened.ok()) return opened.status();
            writer_.emplace(std::move(*opened));
        }
        return writer_->add(key, baseline);
    }

    /// Keeps the file's other cases with the same seed.
    Status keep_former_cases() {
        if (!std::filesystem::exists(plan_.path)) return {};
        auto former = BaselineReader::open(plan_.path);
        if (!former.ok() || former->provenance() != kProvenance || former->seed() != options_.seed) return {};
        std::set<std::string> asked;
        for (const Case* c : plan_.cases) asked.insert(case_key(c->id()));
        for (const std::string& key : former->keys()) {
            if (asked.contains(key)) continue;
            auto baseline = former->read(key);
            if (!baseline.ok()) return baseline.status();
            if (Status s = add(key, *baseline); !s.ok()) return s;
            ++made_.former;
        }
        return {};
    }

    const FilePlan& plan_;
    const GenerateOptions& options_;
    SharedCount& computed_;
    GeneratedFile made_;
    std::optional<BaselineWriter> writer_;
};

WorkAnswer answer_with(const GeneratedFile& made) {
    return {pack_message(made.cases, made.former, made.left_out, made.bytes, made.error)};
}

GeneratedFile made_from(const std::string& path, const WorkOutcome& outcome) {
    GeneratedFile made;
    made.path = path;
    if (!outcome.finished()) {
        made.error = "the worker died: " + outcome.reason;
    } else if (!unpack_message(outcome.payload, made.cases, made.former, made.left_out, made.bytes, made.error)) {
        made.error = "the worker gave no answer";
    }
    return made;
}

class Generation {
 public:
    Generation(const std::vector<Case>& cases, const GenerateOptions& options,
               const std::function<void(const GeneratedFile&)>& on_file)
        : options_(options),
          on_file_(on_file),
          files_(plan_files(cases, options)),
          folder_(options.data + "/baselines") {}

    Result<std::vector<GeneratedFile>> run() {
        std::error_code error;
        std::filesystem::create_directories(folder_, error);
        if (error) {
            return bad_input("cannot make the folder " + folder_ + ": " + error.message() +
                             "; choose another with --data");
        }
        auto manifest = Manifest::load(folder_);
        if (!manifest.ok()) return manifest.error();
        manifest_.emplace(std::move(*manifest));
        std::vector<size_t> items;
        for (size_t i = 0; i < files_.size(); ++i) {
            if (!is_kept(files_[i])) items.push_back(i);
        }
        const auto work = [&](size_t i) { return answer_with(FileWriter(files_[i], options_, computed_).write()); };
        const auto done = [&](size_t i, const WorkOutcome& outcome, std::vector<size_t>&) {
            return settle(i, outcome);
        };
        PoolOptions pool = options_.pool;
        if (options_.progress) pool.on_tick = [this] { options_.progress(computed_.value()); };
        if (Status s = run_in_workers(items, pool, work, done); !s.ok()) return s.error();
        return std::move(made_);
    }

 private:
    [[nodiscard]] std::string relative(const std::string& path) const {
        return std::filesystem::relative(path, folder_).string();
    }

    bool is_kept(const FilePlan& plan) {
        const ManifestEntry* entry = manifest_->find(relative(plan.path));
        if (options_.force) return false;
        GeneratedFile made;
        made.path = plan.path;
        if (entry == nullptr) {
            if (!std::filesystem::exists(plan.path)) return false;
            made.kept = Kept::kForeign;
        } else {
            if (entry->seed != options_.seed || entry->plan != plan.checksum(options_)) return false;
            if (!manifest_->verify(entry->file).ok()) return false;
            made.kept = Kept::kUnchanged;
            made.cases = entry->cases;
            made.bytes = entry->bytes;
        }
        made_.push_back(made);
        on_file_(made_.back());
        return true;
    }

    Status settle(size_t i, const WorkOutcome& outcome) {
        GeneratedFile made = made_from(files_[i].path, outcome);
        if (made.error.empty() && made.cases > 0) {
            ManifestEntry entry;
            entry.file = relative(made.path);
            entry.cases = made.cases + made.former;
            entry.seed = options_.seed;
            entry.generator = kProvenance;
            entry.plan = files_[i].checksum(options_);
            Status s = manifest_->record(std::move(entry));
            if (s.ok()) s = manifest_->save();
            if (!s.ok()) made.error = s.message();
        }
        made_.push_back(std::move(made));
        on_file_(made_.back());
        return {};
    }

    const GenerateOptions& options_;
    const std::function<void(const GeneratedFile&)>& on_file_;
    std::vector<FilePlan> files_;
    std::string folder_;
    std::optional<Manifest> manifest_;
    std::vector<GeneratedFile> made_;
    SharedCount computed_;
};

}  // namespace

Result<CaseBaseline> make_baseline(const Case& c, uint64_t seed, bool self_contained) {
    if (c.random) return not_implemented("a random operator has no expected values");
    if (!reference_backend().implements(c.op)) return not_implemented("there is no reference of " + c.op);
    auto steps = CaseSteps::create(c, seed, nullptr);
    if (!steps.ok()) return steps.error();
    CaseBaseline baseline;
    if (Status s = add_inputs(**steps, self_contained, c, baseline); !s.ok()) return s.error();
    for (const std::string& name : (*steps)->names()) {
        auto step = (*steps)->plan(name);
        if (!step.ok()) return step.error();
        auto expected = (*steps)->expected(*step);
        if (!expected.ok()) return expected.error();
        for (const ArgTensor& value : *expected) {
            baseline.expected[name].push_back(
                {step->call.name_of(value.place()), value.tensor, step->result_at(value.place())->spec.dtype});
        }
    }
    return baseline;
}

int64_t estimate_bytes(const Case& c) {
    int64_t bytes = 0;
    for (const CaseTensor& tensor : c.tensors) {
        for (const TensorSpec& spec : tensor.specs) {
            bytes += numel(spec.shape) * static_cast<int64_t>(size_of(spec.dtype));
        }
    }
    auto rows = rows_for(c);
    if (!rows.ok() || rows->forward == nullptr) return bytes;
    auto call = bind_call(*rows->forward, c, shape_tensors(c));
    if (!call.ok()) return bytes;
    auto outputs = infer(*call, hints_of(c));
    if (!outputs.ok()) return bytes;
    for (const OutputSpec& output : *outputs) {
        bytes += numel(output.spec.shape) * static_cast<int64_t>(size_of(output.spec.dtype));
    }
    return bytes;
}

Result<std::vector<GeneratedFile>> generate(const std::vector<Case>& cases, const GenerateOptions& options,
                                            const std::function<void(const GeneratedFile&)>& on_file) {
    return Generation(cases, options, on_file).run();
}

}  // namespace diopi
