/// Prints the C functions of libdiopi_torch.so, one for each function of the standard that the table has a call for.
#include <diopi/functions.h>
#include <diopi/functions_ext.h>
#include <diopi/functions_lmdeploy.h>
#include <diopi/functions_mmcv.h>
#include <diopi/functions_sparse.h>

#include <cstdio>
#include <string>

#include "aten/aten_call.hpp"

namespace {

template <class T>
constexpr const char* kType = nullptr;
#define TYPE(T) \
    template <> \
    constexpr const char* kType<T> = #T
TYPE(diopiTensorHandle_t);
TYPE(diopiConstTensorHandle_t);
TYPE(diopiTensorHandle_t*);
TYPE(diopiConstTensorHandle_t*);
TYPE(const diopiScalar_t*);
TYPE(diopiScalar_t*);
TYPE(diopiSize_t);
TYPE(diopiSize_t*);
TYPE(const diopiSize_t*);
TYPE(int64_t);
TYPE(int32_t);
TYPE(float);
TYPE(double);
TYPE(bool);
TYPE(const char*);
TYPE(diopiReduction_t);
TYPE(diopiRoundMode_t);
TYPE(diopiMemoryFormat_t);
TYPE(int64_t*);
TYPE(const int64_t*);
TYPE(double*);
TYPE(const double*);
TYPE(bool*);
TYPE(const bool*);
TYPE(diopiGeneratorHandle_t);
TYPE(diopiGeneratorHandle_t*);
TYPE(void*);
#undef TYPE

template <class Function>
struct Entry;

template <class... Arguments>
struct Entry<diopiError_t(diopiContextHandle_t, Arguments...)> {
    static std::string text(const char* function, size_t index) {
        std::string parameters, boxed;
        int i = 0;
        ((parameters += std::string(", ") + kType<Arguments> + " a" + std::to_string(i),
          boxed += (i == 0 ? "a" : ", a") + std::to_string(i), ++i),
         ...);
        return std::string("diopiError_t ") + function + "(diopiContextHandle_t ctx" + parameters +
               ") {\n    const Argument arguments[] = {" + boxed + "};\n    return call(" + std::to_string(index) +
               ", ctx, arguments);\n}\n";
    }
};

std::string text_of(size_t index) {
    size_t i = 0;
#define DIOPI_ROW(function, ...) \
    if (i++ == index) return Entry<decltype(::function)>::text(#function, index);
#include "schema/all.inc"
#undef DIOPI_ROW
    return "";
}

}  // namespace

int main() {
    for (const char* set : {"functions", "functions_ext", "functions_lmdeploy", "functions_mmcv", "functions_sparse"}) {
        std::printf("#include <diopi/%s.h>\n", set);
    }
    std::printf(
        "\n#include \"kernels/torch/argument.hpp\"\n\nusing diopi::torch_impl::Argument;\nusing "
        "diopi::torch_impl::call;\n"
        "\nextern \"C\" {\n");
    for (const diopi::Row& row : diopi::rows()) {
        if (!diopi::aten_calls_of(row).empty()) std::printf("\n%s", text_of(row.index()).c_str());
    }
    std::printf("\n}  // extern \"C\"\n");
    return std::fflush(stdout) == 0 ? 0 : 1;
}
