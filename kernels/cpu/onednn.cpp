#include "kernels/cpu/onednn.hpp"

#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <list>
#include <memory>

#include "kernels/cpu/view.hpp"

namespace diopi::cpu {

namespace {

/// The number of plans that a thread keeps: more than the distinct calls of any model in cases/models.
constexpr size_t kMaxPlans = 512;
constexpr size_t kAlignment = 64;

size_t aligned(size_t nbytes) { return (nbytes + kAlignment - 1) / kAlignment * kAlignment; }

struct KeyHash {
    size_t operator()(const PlanKey& key) const {
        uint64_t hash = 0x9e3779b97f4a7c15u;
        for (const int64_t part : key) {
            hash = (hash ^ static_cast<uint64_t>(part)) * 0xff51afd7ed558ccdu;
            hash ^= hash >> 32;
        }
        return hash;
    }
};

/// A cache that drops the least recently used plan.
class PlanCache {
 public:
    Plan& get(PlanKey key, const std::function<Plan()>& make) {
        if (const auto found = index_.find(key); found != index_.end()) {
            entries_.splice(entries_.begin(), entries_, found->second);
            return *entries_.front().plan;
        }
        auto plan = std::make_unique<Plan>(make());
        entries_.push_front({key, std::move(plan)});
        index_.emplace(std::move(key), entries_.begin());
        if (entries_.size() > kMaxPlans) {
            index_.erase(entries_.back().key);
            entries_.pop_back();
        }
        return *entries_.front().plan;
    }

 private:
    struct Entry {
        PlanKey key;
        std::unique_ptr<Plan> plan;
    };
    std::list<Entry> entries_;
    std::unordered_map<PlanKey, std::list<Entry>::iterator, KeyHash> index_;
};

/// The workspace that a thread keeps between calls: for the layers of a vision model, the first access to new pages
/// costs as much as the convolution itself (measured on an AMD EPYC: 225 ms against 135 ms). A larger workspace comes
/// from the context.
constexpr size_t kMaxKept = size_t{256} << 20;

struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
};

std::byte* kept_workspace(size_t nbytes) {
    thread_local std::unique_ptr<std::byte, Free> memory;
    thread_local size_t size = 0;
    if (nbytes > size) {
        memory.reset();
        memory.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, aligned(nbytes))));
        size = memory ? nbytes : 0;
    }
    return memory.get();
}

dnnl::memory empty_memory(const dnnl::memory::desc& desc) {
    return dnnl::memory(desc, onednn_engine(), DNNL_MEMORY_NONE);
}

}  // namespace

dnnl::engine& onednn_engine() {
    static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return engine;
}

dnnl::stream& onednn_stream() {
    thread_local dnnl::stream stream(onednn_engine());
    return stream;
}

const dnnl::primitive_attr& onednn_attr() {
    static const dnnl::primitive_attr attr = [] {
        dnnl::primitive_attr made;
        made.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        return made;
    }();
    return attr;
}

Plan::Plan(const dnnl::primitive_desc_base& desc, const dnnl::primitive& primitive, std::span<const Operand> operands)
    : primitive_(primitive),
      is_by_matrices_(std::string_view(desc.impl_info_str()).find("gemm") != std::string_view::npos) {
    const dnnl::memory::desc scratchpad = desc.query_md(dnnl::query::scratchpad_md);
    workspace_bytes_ = aligned(scratchpad.get_size());
    scratchpads_.push_back(empty_memory(scratchpad));
    args_.emplace(DNNL_ARG_SCRATCHPAD, scratchpads_.front());
    bound_.reserve(operands.size());
    for (const Operand& operand : operands) bind(desc, operand);
    // The largest scratchpad is known now; the reordered operands are behind it.
    for (Bound& bound : bound_) {
        if (!bound.inner) continue;
        bound.inner_offset = workspace_bytes_;
        workspace_bytes_ += aligned(bound.inner->get_desc().get_size());
    }
}

void Plan::bind(const dnnl::primitive_desc_base& desc, const Operand& operand) {
    Bound bound;
    bound.is_output = operand.is_output;
    bound.user = empty_memory(operand.desc);
    const dnnl::memory::desc wanted = desc.query_md(dnnl::query::exec_arg_md, operand.arg);
    if (wanted == operand.desc) {
        args_.emplace(operand.arg, bound.user);
    } else {
        bound.inner = empty_memory(wanted);
        const dnnl::memory& from = operand.is_output ? *bound.inner : bound.user;
        const dnnl::memory& to = operand.is_output ? bound.user : *bound.inner;
        const dnnl::reorder::primitive_desc reorder(onednn_engine(), from.get_desc(), onednn_engine(), to.get_desc(),
                                                    onednn_attr());
        bound.reorder = dnnl::reorder(reorder);
        scratchpads_.push_back(empty_memory(reorder.query_md(dnnl::query::scratchpad_md)));
        workspace_bytes_ = std::max(workspace_bytes_, aligned(scratchpads_.back().get_desc().get_size()));
        bound.reorder_args = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, scratchpads_.back()}};
        args_.emplace(operand.arg, *bound.inner);
    }
    bound_.push_back(std::move(bound));
}

diopiError_t Plan::run(diopiContextHandle_t ctx, std::span<void* const> data) {
    View workspace;
    if (workspace_bytes_ > 0 && (workspace_bytes_ <= kMaxKept || omp_in_parallel() != 0)) {
        workspace.data = kept_workspace(workspace_bytes_);
        if (workspace.data == nullptr && omp_in_parallel() != 0) return diopiErrorOccurred;
    }
    if (workspace_bytes_ > 0 && workspace.data == nullptr) {
        const int64_t shape[] = {static_cast<int64_t>(workspace_bytes_)};
        if (const diopiError_t error = require(ctx, shape, Dtype::uint8, workspace); error != diopiSuccess) {
            return error;
        }
    }
    try {
        dnnl::stream& stream = onednn_stream();
        for (const dnnl::memory& scratchpad : scratchpads_) scratchpad.set_data_handle(workspace.data);
        for (size_t i = 0; i < bound_.size(); ++i) {
            Bound& bound = bound_[i];
            bound.user.set_data_handle(data[i]);
            if (!bound.inner) continue;
            bound.inner->set_data_handle(workspace.data + bound.inner_offset);
            if (!bound.is_output) bound.reorder->execute(stream, bound.reorder_args);
        }
        primitive_.execute(stream, args_);
        for (Bound& bound : bound_) {
            if (bound.inner && bound.is_output) bound.reorder->execute(stream, bound.reorder_args);
        }
        stream.wait();
    } catch (const dnnl::error& error) {
        return fail(diopiErrorOccurred, std::string("oneDNN could not run a primitive: ") + error.what());
    }
    return diopiSuccess;
}

Plan* cached_plan(PlanKey key, const std::function<Plan()>& make) {
    thread_local PlanCache cache;
    // oneDNN runs a primitive in one thread within a parallel region.
    key.push_back(omp_in_parallel() != 0 ? 0 : omp_get_max_threads());
    try {
        return &cache.get(std::move(key), make);
    } catch (const dnnl::error& error) {
        (void)fail(diopiErrorOccurred, std::string("oneDNN has no primitive for this call: ") + error.what());
        return nullptr;
    }
}

}  // namespace diopi::cpu
