/// A class around oneDNN: a primitive with the reorders that it needs, made once for each set of shapes and run on raw
/// pointers.
#pragma once

#include <diopi/diopirt.h>

#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/half.hpp"

namespace diopi::cpu {

/// The CPU engine of the process.
[[nodiscard]] dnnl::engine& onednn_engine();
/// The stream of the calling thread.
[[nodiscard]] dnnl::stream& onednn_stream();
/// Attributes under which the caller provides the scratchpad.
[[nodiscard]] const dnnl::primitive_attr& onednn_attr();

/// oneDNN's name of an element type.
template <class T>
constexpr dnnl::memory::data_type kDataType;
template <>
inline constexpr auto kDataType<float> = dnnl::memory::data_type::f32;
template <>
inline constexpr auto kDataType<Bfloat16> = dnnl::memory::data_type::bf16;

/// An argument of a primitive: DNNL_ARG_SRC, ..., the layout of the caller's memory, and the caller's memory.
struct Operand {
    int arg = 0;
    dnnl::memory::desc desc;
    bool is_output = false;
};

/// A primitive with the caller's layouts. If the primitive prefers another layout, run() reorders into and out of
/// workspace of the thread, or of the context if it is large and no other thread can use the context. Each thread has
/// its own plans: two threads must not use one.
class Plan {
 public:
    Plan(const dnnl::primitive_desc_base& desc, const dnnl::primitive& primitive, std::span<const Operand> operands);

    /// Runs on `data`, which has one pointer for each operand, in their order. Does not throw.
    [[nodiscard]] diopiError_t run(diopiContextHandle_t ctx, std::span<void* const> data);
    /// Whether it multiplies matrices, and divides their terms by the number of threads (2.6.3: convolutions for which
    /// the processor has no kernel of its own, on x86-64 and aarch64).
    [[nodiscard]] bool varies_with_threads() const { return is_by_matrices_; }

 private:
    struct Bound {
        bool is_output = false;
        dnnl::memory user;
        /// Empty if the primitive works on the caller's memory.
        std::optional<dnnl::memory> inner;
        std::optional<dnnl::reorder> reorder;
        std::unordered_map<int, dnnl::memory> reorder_args;
        size_t inner_offset = 0;
    };

    void bind(const dnnl::primitive_desc_base& desc, const Operand& operand);

    dnnl::primitive primitive_;
    std::vector<Bound> bound_;
    std::unordered_map<int, dnnl::memory> args_;
    /// The scratchpads of the primitive and of the reorders share the start of the workspace; they run in turn.
    std::vector<dnnl::memory> scratchpads_;
    size_t workspace_bytes_ = 0;
    bool is_by_matrices_;
};

/// All properties that determine a plan: kind, sizes, layouts. cached_plan adds the number of threads.
using PlanKey = std::vector<int64_t>;

/// The calling thread's plan for `key`, made by `make` if the cache lacks it. If oneDNN has no such primitive, it is
/// null and the last error is set.
[[nodiscard]] Plan* cached_plan(PlanKey key, const std::function<Plan()>& make);

}  // namespace diopi::cpu
