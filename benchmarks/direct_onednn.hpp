/// oneDNN as called by a program that knows its shapes beforehand: primitives and reorders are made once, on plain user
/// memory. The cpu backend is measured against it, so nothing here may come from the cpu backend but the names of
/// oneDNN's interface.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "core/tensor.hpp"
#include "kernels/cpu/onednn_api.hpp"

namespace diopi::bench {

[[nodiscard]] const dnnl::engine& direct_engine();

/// The description of a primitive, with the arguments of oneDNN 3 after the engine.
template <class Primitive, class... Args>
[[nodiscard]] typename Primitive::primitive_desc describe(const Args&... args) {
    return onednn::describe<Primitive>(onednn::Avoided::nothing, direct_engine(), dnnl::primitive_attr(), args...);
}
template <class Primitive, class Forward, class... Args>
[[nodiscard]] typename Primitive::primitive_desc describe_gradient(const Forward& forward, const Args&... args) {
    return onednn::describe_gradient<Primitive>(onednn::Avoided::nothing, direct_engine(), dnnl::primitive_attr(),
                                                forward, args...);
}

/// The layouts of a primitive: those that it chooses, with reorders from and to the user's, or the user's.
enum class Layouts { chosen, plain };

/// The same sizes in the layout that a primitive is to be created on.
[[nodiscard]] dnnl::memory::desc offered(Layouts layouts, const dnnl::memory::desc& user);

/// Primitives that run one after the other, with the reorders that they need.
class DirectProgram {
 public:
    struct Operand {
        int arg = 0;
        dnnl::memory::desc desc;         ///< how the tensor's memory is laid out
        const Tensor* tensor = nullptr;  ///< must outlive the program
        bool is_output = false;
    };

    /// Appends a primitive. If an earlier primitive needs an input in the same layout, one reorder serves both.
    void add(const dnnl::primitive_desc_base& desc, const dnnl::primitive& primitive,
             std::span<const Operand> operands);
    /// Runs all primitives and waits.
    void run();

 private:
    struct Step {
        dnnl::primitive primitive;
        std::unordered_map<int, dnnl::memory> args;
    };
    struct Reordered {
        const Tensor* tensor;
        dnnl::memory memory;
    };

    [[nodiscard]] dnnl::memory input_as(const dnnl::memory::desc& wanted, const Operand& operand);
    void add_reorder(const dnnl::memory& from, const dnnl::memory& to);

    dnnl::stream stream_{direct_engine()};
    std::vector<Step> steps_;
    std::vector<Reordered> reordered_;
};

}  // namespace diopi::bench
