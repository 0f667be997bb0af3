/// Checks of tensors and their memory: construction, getters, copies.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "core/strided.hpp"
#include "runtime_suite/runtime_checks.hpp"

namespace diopi::runtime_check {

namespace {

/// A dtype of the ABI and the size of its elements in the standard.
struct DtypeSize {
    diopiDtype_t dtype;
    int64_t nbytes;
};
constexpr DtypeSize kDtypes[] = {{diopi_dtype_int8, 1},      {diopi_dtype_uint8, 1},      {diopi_dtype_int16, 2},
                                 {diopi_dtype_uint16, 2},    {diopi_dtype_int32, 4},      {diopi_dtype_uint32, 4},
                                 {diopi_dtype_int64, 8},     {diopi_dtype_uint64, 8},     {diopi_dtype_float16, 2},
                                 {diopi_dtype_float32, 4},   {diopi_dtype_float64, 8},    {diopi_dtype_bool, 1},
                                 {diopi_dtype_bfloat16, 2},  {diopi_dtype_tfloat32, 4},   {diopi_dtype_complex32, 4},
                                 {diopi_dtype_complex64, 8}, {diopi_dtype_complex128, 16}};

/// A shape, the strides to request, the strides that the tensor must have, and the elements that its storage spans.
struct Form {
    Shape shape, asked, strides;
    int64_t extent;
};
const std::vector<Form>& forms() {
    static const std::vector<Form> all = {
        {{}, {}, {}, 1},
        {{1}, {}, {1}, 1},
        {{7}, {}, {1}, 7},
        {{0}, {}, {1}, 0},
        {{3, 0, 2}, {}, {2, 2, 1}, 0},
        {{2, 3, 4}, {}, {12, 4, 1}, 24},
        {{5, 1, 7}, {}, {7, 7, 1}, 35},
        {{3, 4}, {1, 3}, {1, 3}, 12},
        {{2, 3, 4}, {24, 8, 2}, {24, 8, 2}, 47},
        {{2, 2, 3, 5}, {30, 1, 10, 2}, {30, 1, 10, 2}, 60},
        {{4, 3}, {0, 1}, {0, 1}, 3},
    };
    return all;
}

constexpr size_t kAlignment = 64;

/// The values that the getters must return for a tensor.
struct Wanted {
    Shape shape, strides;
    DtypeSize dtype;
    diopiDevice_t device = diopi_host;
    size_t storage_nbytes = 0;
    int64_t offset = 0;
};

std::string text_of(const Wanted& wanted) {
    return fmt::format("a tensor of shape {}, strides {}, {}, on the {}", to_string(wanted.shape),
                       to_string(wanted.strides), name(from_c(wanted.dtype.dtype)),
                       wanted.device == diopi_host ? "host" : "device");
}

/// Calls a getter as getter(tensor, &value). The error names it.
template <class T, class Getter>
Status ask(const char* getter_name, Getter* getter, diopiTensorHandle_t tensor, T& value) {
    const diopiError_t error = getter(tensor, &value);
    if (error == diopiSuccess) return {};
    return failed(fmt::format("{} gives {}", getter_name, name(error)));
}

template <class T, class Getter>
Status expect(const char* getter_name, Getter* getter, diopiTensorHandle_t tensor, T wanted) {
    T value{};
    if (Status s = ask(getter_name, getter, tensor, value); !s.ok()) return s;
    if (value == wanted) return {};
    return failed(fmt::format("{} says {} where {} is wanted", getter_name, static_cast<int64_t>(value),
                              static_cast<int64_t>(wanted)));
}

template <class Getter>
Status expect_list(const char* getter_name, Getter* getter, diopiTensorHandle_t tensor, const Shape& wanted) {
    diopiSize_t value{};
    if (Status s = ask(getter_name, getter, tensor, value); !s.ok()) return s;
    const Shape got(value.data, value.data + value.len);
    if (got == wanted) return {};
    return failed(fmt::format("{} says {} where {} is wanted", getter_name, to_string(got), to_string(wanted)));
}

Status first_failure(std::initializer_list<Status> all) {
    const auto* found = std::ranges::find_if(all, [](const Status& s) { return !s.ok(); });
    return found == all.end() ? Status() : *found;
}

/// Checks the pointers: null for an empty tensor, else storage and offset decide.
Status check_pointers(const RuntimeFunctions& f, diopiTensorHandle_t tensor, const Wanted& wanted) {
    void* data = nullptr;
    const void* const_data = nullptr;
    void* storage = nullptr;
    const Status asked = first_failure({ask("diopiGetTensorData", f.get_data, tensor, data),
                                        ask("diopiGetTensorDataConst", f.get_data_const, tensor, const_data),
                                        ask("diopiGetTensorStoragePtr", f.get_storage_ptr, tensor, storage)});
    if (!asked.ok()) return asked;
    if (data != const_data) return failed("diopiGetTensorData and diopiGetTensorDataConst differ");
    if (numel(wanted.shape) == 0) return data == nullptr ? Status() : failed("an empty tensor's data is not null");
    if (storage == nullptr) return failed("diopiGetTensorStoragePtr is null");
    if (reinterpret_cast<uintptr_t>(storage) % kAlignment != 0) {
        return failed(fmt::format("the storage at {} is not aligned to {} bytes", storage, kAlignment));
    }
    if (data == static_cast<char*>(storage) + wanted.offset * wanted.dtype.nbytes) return {};
    return failed(
        fmt::format("diopiGetTensorData says {} where the storage {} and the offset of {} elements give "
                    "another address",
                    data, storage, wanted.offset));
}

Status check_getters(const RuntimeFunctions& f, diopiTensorHandle_t tensor, const Wanted& wanted) {
    diopiDeviceIndex_t current = -1;
    if (f.get_current_device_index(&current) != diopiSuccess || current < 0) {
        return failed(fmt::format("diopiGetCurrentDeviceIndex says {}", current));
    }
    Status s = first_failure({
        expect_list("diopiGetTensorShape", f.get_shape, tensor, wanted.shape),
        expect_list("diopiGetTensorStride", f.get_stride, tensor, wanted.strides),
        expect("diopiGetTensorDtype", f.get_dtype, tensor, wanted.dtype.dtype),
        expect("diopiGetTensorDevice", f.get_device, tensor, wanted.device),
        expect("diopiGetTensorNumel", f.get_numel, tensor, numel(wanted.shape)),
        expect("diopiGetTensorElemSize", f.get_elem_size, tensor, wanted.dtype.nbytes),
        expect("diopiGetTensorStorageOffset", f.get_storage_offset, tensor, wanted.offset),
        expect("diopiGetTensorStorageNbytes", f.get_storage_nbytes, tensor, wanted.storage_nbytes),
        expect("diopiGetTensorDeviceIndex", f.get_device_index, tensor, current),
        expect("diopiIsTensorSparse", f.is_sparse, tensor, false),
        check_pointers(f, tensor, wanted),
    });
    return s.ok() ? s : Status(failed(text_of(wanted) + ": " + s.message()));
}

/// A tensor with the byte that fills its memory.
struct Filled {
    diopiTensorHandle_t tensor;
    Wanted wanted;
    std::byte fill;
};

Status fill_memory(Context& context, const Filled& made) {
    if (made.wanted.storage_nbytes == 0) return {};
    void* memory = made.tensor->storage.memory.get();
    if (made.wanted.device == diopi_host) {
        std::memset(memory, std::to_integer<int>(made.fill), made.wanted.storage_nbytes);
        return {};
    }
    const std::vector<std::byte> bytes(made.wanted.storage_nbytes, made.fill);
    return context.device->copy_to_device(context.stream, memory, bytes.data(), bytes.size());
}

/// Checks that the memory still has its fill: no other tensor was given a part of it.
Status holds_its_fill(Context& context, const Filled& made) {
    std::vector<std::byte> bytes(made.wanted.storage_nbytes, ~made.fill);
    const void* memory = made.tensor->storage.memory.get();
    if (made.wanted.device == diopi_host) {
        if (!bytes.empty()) std::memcpy(bytes.data(), memory, bytes.size());
    } else {
        Status s = context.device->copy_to_host(context.stream, bytes.data(), memory, bytes.size());
        if (s.ok()) s = context.device->synchronize(context.stream);
        if (!s.ok()) return s;
    }
    if (std::ranges::all_of(bytes, [&](std::byte b) { return b == made.fill; })) return {};
    return failed(text_of(made.wanted) +
                  ": its memory does not hold what was written to it; does another tensor share it?");
}

/// Makes tensors on `where` of every dtype and form, and buffers.
Status require_all(const RuntimeFunctions& f, Context& context, diopiDevice_t where, std::vector<Filled>& made) {
    const diopiDevice_t reported = context.device->is_host() ? diopi_host : where;
    const auto next_fill = [&] { return static_cast<std::byte>(made.size() * 37 + 1); };
    for (const DtypeSize dtype : kDtypes) {
        for (const Form& form : forms()) {
            const diopiSize_t size{form.shape.data(), static_cast<int64_t>(form.shape.size())};
            const diopiSize_t stride{form.asked.data(), static_cast<int64_t>(form.asked.size())};
            const auto nbytes = static_cast<size_t>(form.extent * dtype.nbytes);
            const Wanted wanted{form.shape, form.strides, dtype, reported, nbytes};
            diopiTensorHandle_t tensor = nullptr;
            const auto error =
                f.require_tensor(&context, &tensor, &size, form.asked.empty() ? nullptr : &stride, dtype.dtype, where);
            if (error != diopiSuccess) {
                return failed(text_of(wanted) + ": diopiRequireTensor failed: " + diopi::last_error());
            }
            made.push_back({tensor, wanted, next_fill()});
        }
    }
    for (const int64_t nbytes : {0, 1, 100, 4096}) {
        const Wanted wanted{{nbytes}, {1}, {diopi_dtype_uint8, 1}, reported, static_cast<size_t>(nbytes)};
        diopiTensorHandle_t tensor = nullptr;
        if (f.require_buffer(&context, &tensor, nbytes, where) != diopiSuccess) {
            return failed(text_of(wanted) + ": diopiRequireBuffer failed: " + diopi::last_error());
        }
        made.push_back({tensor, wanted, next_fill()});
    }
    return {};
}

Status check_view(const RuntimeFunctions& f, const Tensor& whole) {
    Tensor view = whole;
    view.shape = {2, 2};
    view.strides = {8, 3};
    view.offset = 5;
    return check_getters(f, &view,
                         {view.shape, view.strides, {diopi_dtype_float32, 4}, diopi_host, whole.storage.nbytes, 5});
}

Status check_sparse(const RuntimeFunctions& f, const TensorPtr& dense) {
    const auto part = [&] { return std::make_shared<Tensor>(*dense); };
    Tensor sparse = *dense;
    sparse.crow_indices = part();
    sparse.col_indices = part();
    sparse.values = part();
    Status s = expect("diopiIsTensorSparse", f.is_sparse, &sparse, true);
    if (!s.ok()) return s;
    struct Part {
        const char* name;
        decltype(f.get_values) get;
        const Tensor* wanted;
    };
    const Part parts[] = {{"diopiGetTensorCrowIndices", f.get_crow_indices, sparse.crow_indices.get()},
                          {"diopiGetTensorColIndices", f.get_col_indices, sparse.col_indices.get()},
                          {"diopiGetTensorValues", f.get_values, sparse.values.get()}};
    for (const Part& p : parts) {
        diopiConstTensorHandle_t got = nullptr;
        if (p.get(&sparse, &got) != diopiSuccess || got != p.wanted) {
            return failed(std::string(p.name) + " does not give that part of a CSR tensor");
        }
        if (p.get(dense.get(), &got) == diopiSuccess) {
            return failed(std::string(p.name) + " succeeds on a dense tensor, which has no such part");
        }
    }
    return {};
}

/// A block of device memory and its expected contents.
class Mirror {
 public:
    static Result<Mirror> create(Context& context, size_t nbytes) {
        auto memory = context.device->allocate(nbytes);
        if (!memory.ok()) return memory.error();
        Mirror mirror(context, std::move(*memory), nbytes);
        if (Status s = mirror.write(0, nbytes, 1); !s.ok()) return s.error();
        return mirror;
    }

    /// Writes bytes that depend on `seed` to a part of the block, from an unaligned source.
    Status write(size_t begin, size_t nbytes, uint64_t seed) {
        std::vector<std::byte> source(nbytes + 1);
        for (uint64_t i = 0; i < source.size(); ++i) {
            source[i] = static_cast<std::byte>(((i + seed) * 0x9e3779b97f4a7c15) >> 56);
        }
        std::copy_n(source.begin() + 1, nbytes, wanted_.begin() + static_cast<std::ptrdiff_t>(begin));
        Status s = context_->device->copy_to_device(context_->stream, address(begin), source.data() + 1, nbytes);
        return s.ok() ? context_->device->synchronize(context_->stream) : s;
    }

    /// Reads a part of the block and compares it; the bytes around the destination must not change.
    Status compare(size_t begin, size_t nbytes) {
        constexpr std::byte kUntouched{0x5a};
        std::vector<std::byte> got(nbytes + 2 * kMargin, kUntouched);
        Status s = context_->device->copy_to_host(context_->stream, got.data() + kMargin, address(begin), nbytes);
        if (s.ok()) s = context_->device->synchronize(context_->stream);
        if (!s.ok()) return s;
        std::vector<std::byte> wanted(kMargin, kUntouched);
        const auto from = wanted_.begin() + static_cast<std::ptrdiff_t>(begin);
        wanted.insert(wanted.end(), from, from + static_cast<std::ptrdiff_t>(nbytes));
        wanted.insert(wanted.end(), kMargin, kUntouched);
        const auto [at, unused] = std::ranges::mismatch(got, wanted);
        if (at == got.end()) return {};
        return failed(fmt::format("of {} bytes from byte {} of a block of {}, byte {} is wrong on the host", nbytes,
                                  begin, wanted_.size(), at - got.begin() - kMargin));
    }

    [[nodiscard]] size_t size() const { return wanted_.size(); }

 private:
    static constexpr std::ptrdiff_t kMargin = 16;

    Mirror(Context& context, std::shared_ptr<void> memory, size_t nbytes)
        : context_(&context), memory_(std::move(memory)), wanted_(nbytes) {}
    [[nodiscard]] void* address(size_t begin) const {
        return memory_ == nullptr ? nullptr : static_cast<char*>(memory_.get()) + begin;
    }

    Context* context_;
    std::shared_ptr<void> memory_;
    std::vector<std::byte> wanted_;
};

constexpr size_t kBlockSizes[] = {0, 1, 63, 4097, 1 << 20, 24 << 20};
constexpr int kRangesPerBlock = 40;

/// Writes and reads random parts of a block, then the whole of it.
Status check_block(Mirror& mirror, std::mt19937_64& random) {
    const size_t size = mirror.size();
    for (int i = 0; i < kRangesPerBlock; ++i) {
        // Many ranges are short and at odd places, few are long.
        const size_t longest = i % 10 == 0 ? size : std::min<size_t>(size, 5000);
        const size_t nbytes = i == 1 ? 0 : i == 2 ? std::min<size_t>(size, 1) : random() % (longest + 1);
        const size_t begin = random() % (size - nbytes + 1);
        if (Status s = mirror.write(begin, nbytes, random()); !s.ok()) return s;
        if (Status s = mirror.compare(begin, nbytes); !s.ok()) return s;
    }
    return mirror.compare(0, size);
}

}  // namespace

Findings tensor_construction(const RuntimeSubject& subject) {
    const RuntimeFunctions& f = subject.functions;
    Context context(subject.backend->device());
    std::vector<Filled> made;
    for (const diopiDevice_t where : {diopi_host, diopi_device}) {
        if (Status s = require_all(f, context, where, made); !s.ok()) return s.error();
    }
    for (const Filled& one : made) {
        if (Status s = check_getters(f, one.tensor, one.wanted); !s.ok()) return s.error();
        if (Status s = fill_memory(context, one); !s.ok()) return s.error();
    }
    for (const Filled& one : made) {
        if (Status s = holds_its_fill(context, one); !s.ok()) return s.error();
    }
    auto whole = make_tensor(cpu_device(), {{5, 5}, Dtype::float32, {}});
    if (!whole.ok()) return whole.error();
    if (Status s = check_view(f, **whole); !s.ok()) return s.error();
    if (Status s = check_sparse(f, *whole); !s.ok()) return s.error();
    return fmt::format("{} tensors of {} dtypes on host and device, a view and a CSR tensor give correct answers",
                       made.size(), std::size(kDtypes));
}

Findings copies(const RuntimeSubject& subject) {
    Context context(subject.backend->device());
    std::mt19937_64 random(1);
    for (const size_t nbytes : kBlockSizes) {
        auto mirror = Mirror::create(context, nbytes);
        if (!mirror.ok()) return mirror.error();
        if (Status s = check_block(*mirror, random); !s.ok()) return s.error();
    }
    return fmt::format("blocks of 0 bytes to {} MiB, {} ranges of each copied to the device and back",
                       kBlockSizes[5] >> 20, kRangesPerBlock);
}

}  // namespace diopi::runtime_check
