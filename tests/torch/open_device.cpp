/// A device of PyTorch's PrivateUse1 kind, as vendors bring them in a library of their own. Its memory is the host's,
/// and each kernel is the processor's, on the same memory. DIOPI_OPEN_DEVICE_RECORD names a file for the operators that
/// ran; DIOPI_OPEN_DEVICE_MEMORY is the largest number of bytes that one allocation gets. It has no generators.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>
#include <torch/version.h>

#include <cstdio>
#include <cstdlib>
#include <unordered_map>

namespace {

constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;

C10_REGISTER_GUARD_IMPL(PrivateUse1, c10::impl::NoOpDeviceGuardImpl<kType>);

at::DataPtr allocate(size_t bytes) {
    if (const char* most = std::getenv("DIOPI_OPEN_DEVICE_MEMORY")) {
        TORCH_CHECK_WITH(OutOfMemoryError, bytes <= std::strtoull(most, nullptr, 10),
                         "open device out of memory. Tried to allocate ", bytes, " bytes");
    }
    void* memory = bytes == 0 ? nullptr : std::malloc(bytes);
    return {memory, memory, &std::free, c10::Device(kType, 0)};
}

#if TORCH_VERSION_MAJOR > 1
class Memory final : public c10::Allocator {
 public:
    at::DataPtr allocate(size_t bytes) override { return ::allocate(bytes); }
    at::DeleterFnPtr raw_deleter() const override { return &std::free; }
    void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
};
#else
class Memory final : public c10::Allocator {
 public:
    at::DataPtr allocate(size_t bytes) const override { return ::allocate(bytes); }
    at::DeleterFnPtr raw_deleter() const override { return &std::free; }
};
#endif

Memory g_memory;
const bool g_is_set = (c10::SetAllocator(kType, &g_memory), true);

/// The same memory as a tensor of another device; `kept` stays as long as it.
at::Tensor on_device(const at::Tensor& tensor, c10::Device device, const at::Tensor& kept) {
    return at::for_blob(tensor.data_ptr(), tensor.sizes())
        .strides(tensor.strides())
        .deleter([kept](void*) {})
        .options(tensor.options().device(device))
        .target_device(device)
        .make_tensor();
}

/// The arguments of one call, as the processor takes them.
class Arguments {
 public:
    c10::IValue to_processor(const c10::IValue& value) {
        if (value.isTensor()) return borrow(value.toTensor());
        if (value.isDevice()) return c10::Device(c10::DeviceType::CPU);
        if (value.isTensorList()) {
            c10::List<at::Tensor> list;
            for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(borrow(tensor));
            return list;
        }
        return value;
    }

    at::Tensor to_device(const at::Tensor& result) {
        const auto found = borrowed_.find(result.unsafeGetTensorImpl());
        if (found != borrowed_.end()) return found->second.original;
        return result.defined() ? on_device(result, c10::Device(kType, 0), result) : result;
    }

 private:
    at::Tensor borrow(const at::Tensor& tensor) {
        if (!tensor.defined() || tensor.device().type() != kType) return tensor;
        const at::Tensor borrowed = on_device(tensor, c10::Device(c10::DeviceType::CPU), tensor);
        borrowed_.emplace(borrowed.unsafeGetTensorImpl(), Borrowed{borrowed, tensor});
        return borrowed;
    }

    /// A result may be a reference to an argument that PyTorch has dropped, which stays alive here.
    struct Borrowed {
        at::Tensor borrowed, original;
    };
    std::unordered_map<at::TensorImpl*, Borrowed> borrowed_;
};

void run_on_processor(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    if (const char* path = std::getenv("DIOPI_OPEN_DEVICE_RECORD")) {
        if (std::FILE* file = std::fopen(path, "a")) {
            std::fprintf(file, "%s\n", op.operator_name().name.c_str());
            std::fclose(file);
        }
    }
    Arguments arguments;
    const size_t count = op.schema().arguments().size();
    for (size_t i = stack->size() - count; i < stack->size(); ++i) (*stack)[i] = arguments.to_processor((*stack)[i]);
    op.callBoxed(stack);
    const size_t results = op.schema().returns().size();
    for (size_t i = stack->size() - results; i < stack->size(); ++i) {
        c10::IValue& result = (*stack)[i];
        if (result.isTensor()) result = arguments.to_device(result.toTensor());
        if (!result.isTensorList()) continue;
        c10::List<at::Tensor> list;
        for (const at::Tensor& tensor : result.toTensorVector()) list.push_back(arguments.to_device(tensor));
        result = list;
    }
}

/// Copies between this device and the processor, in either direction.
at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
    const c10::Device processor(c10::DeviceType::CPU);
    on_device(to, processor, to).copy_(on_device(from, processor, from));
    return to;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) { library.impl("_copy_from", &copy_from); }

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_processor>());
}
