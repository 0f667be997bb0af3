/// The backends that are linked in: one table each over the weak declarations of its namespace.
#include <array>

#include "backend/backend.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/product/tf32.hpp"
#include "kernels/reference/blas.hpp"
#include "kernels/reference/operators.hpp"
#include "runtime/cuda/cuda_device.hpp"

namespace diopi {

namespace {

const AnyFunction kReferenceTable[] = {
#define DIOPI_ROW(function, ...) reinterpret_cast<AnyFunction>(&reference::function),
#include "schema/all.inc"
#undef DIOPI_ROW
};

const AnyFunction kCpuTable[] = {
#define DIOPI_ROW(function, ...) reinterpret_cast<AnyFunction>(&cpu::function),
#include "schema/all.inc"
#undef DIOPI_ROW
};

const AnyFunction kCudaTable[] = {
#define DIOPI_ROW(function, ...) reinterpret_cast<AnyFunction>(&cuda::function),
#include "schema/all.inc"
#undef DIOPI_ROW
};

}  // namespace

const Backend& reference_backend() {
    static const Backend backend =
        Backend("reference", cpu_device(), kReferenceTable).described_by(reference::blas_description);
    return backend;
}

std::span<const Backend* const> backends() {
    static const Backend cpu_backend("cpu", cpu_device(), kCpuTable);
    static const Backend cuda_backend("cuda", cuda_device(), kCudaTable, probe_cuda, [] { cuda::use_tf32(false); });
    static const Backend tf32_backend = cuda_backend.in_tf32("cuda+tf32", [] { cuda::use_tf32(true); });
    static const std::array all = {&cpu_backend, &cuda_backend, &tf32_backend, &reference_backend()};
    return all;
}

}  // namespace diopi
