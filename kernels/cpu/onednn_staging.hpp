/// Brings tensors into the form that oneDNN and the other heavy kernels compute on: float32, bfloat16 for the machine's
/// units, or float64 for float64; dense, with the channels second or last. A tensor that already has that form is used
/// without a copy.
#pragma once

#include <array>
#include <type_traits>

#include "core/half.hpp"
#include "kernels/cpu/view.hpp"

namespace diopi::cpu {

/// The place of the channels (dimension 1) of a dense tensor in memory.
enum class Layout : int64_t { plain, channels_last };

/// channels_last if the memory of the tensor is dense in that order and not row-major; plain otherwise.
[[nodiscard]] Layout layout_of(const View& tensor);

template <class Compute>
constexpr Dtype kComputeDtype = std::is_same_v<Compute, double>     ? Dtype::float64
                                : std::is_same_v<Compute, float>    ? Dtype::float32
                                : std::is_same_v<Compute, Half>     ? Dtype::float16
                                : std::is_same_v<Compute, Bfloat16> ? Dtype::bfloat16
                                                                    : Dtype::int64;

/// The operands of one call in the form for computing. error() and finish() return the first error; after it the
/// pointers are null. Compute is float, double, int64_t, or a half type whose kernel converts itself.
class Staging {
 public:
    explicit Staging(diopiContextHandle_t ctx) : ctx_(ctx) {}
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;

    /// The elements, dense in `layout` (which needs rank 3 or more if channels_last).
    template <class Compute>
    [[nodiscard]] const Compute* in(const View& tensor, Layout layout = Layout::plain) {
        return reinterpret_cast<const Compute*>(load(tensor, kComputeDtype<Compute>, layout));
    }
    /// The same for an argument that may be null.
    template <class Compute>
    [[nodiscard]] const Compute* in(diopiConstTensorHandle_t tensor, Layout layout = Layout::plain) {
        return tensor == nullptr ? nullptr : in<Compute>(view(tensor), layout);
    }
    /// Memory for an output, with undefined contents. If it is not the tensor's own, finish() rounds it into the
    /// tensor.
    template <class Compute>
    [[nodiscard]] Compute* out(const View& tensor, Layout layout = Layout::plain) {
        return reinterpret_cast<Compute*>(open(tensor, kComputeDtype<Compute>, layout));
    }
    template <class Compute>
    [[nodiscard]] Compute* out(diopiTensorHandle_t tensor, Layout layout = Layout::plain) {
        return tensor == nullptr ? nullptr : out<Compute>(view(tensor), layout);
    }
    /// Workspace for `count` elements, aligned to 64 bytes.
    template <class T>
    [[nodiscard]] T* buffer(int64_t count) {
        return reinterpret_cast<T*>(workspace(count * static_cast<int64_t>(sizeof(T))));
    }

    [[nodiscard]] diopiError_t error() const { return error_; }
    /// Writes the outputs back.
    [[nodiscard]] diopiError_t finish();

 private:
    /// A view with its own sizes, whose dimensions are in the order of memory.
    struct Ordered {
        std::array<int64_t, kMaxRank> shape{}, strides{};
        View view;
        void set(const View& tensor, Layout layout);
    };
    struct Pending {
        Ordered target;
        View made;
    };
    static constexpr int kMaxOutputs = 8;

    std::byte* load(const View& tensor, Dtype dtype, Layout layout);
    std::byte* open(const View& tensor, Dtype dtype, Layout layout);
    std::byte* workspace(int64_t nbytes);

    diopiContextHandle_t ctx_;
    diopiError_t error_ = diopiSuccess;
    std::array<Pending, kMaxOutputs> pending_;
    size_t pending_count_ = 0;
};

}  // namespace diopi::cpu
