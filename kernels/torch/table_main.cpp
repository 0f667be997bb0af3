/// Prints how PyTorch does the work of each function of the standard; with --entries the C functions of
/// libdiopi_torch.so.
#include <diopi/functions.h>
#include <diopi/functions_ext.h>
#include <diopi/functions_lmdeploy.h>
#include <diopi/functions_mmcv.h>
#include <diopi/functions_sparse.h>

#include <torch/version.h>

#include <cstdio>
#include <string>

#include "aten/aten_call.hpp"
#include "kernels/torch/plan.hpp"

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

/// The reason why the library lacks a function that has no plans.
std::string reason_of(const diopi::Row& row, const diopi::torch_impl::Plans& plans) {
    if (const std::string_view reason = diopi::no_aten_call(row); !reason.empty()) return std::string(reason);
    return plans.drift.empty() ? "there is no row for it" : plans.drift;
}

int print_entries() {
    for (const char* set : {"functions", "functions_ext", "functions_lmdeploy", "functions_mmcv", "functions_sparse"}) {
        std::printf("#include <diopi/%s.h>\n", set);
    }
    std::printf(
        "\n#include \"kernels/torch/argument.hpp\"\n\n"
        "using diopi::torch_impl::Argument;\nusing diopi::torch_impl::call;\n\nextern \"C\" {\n");
    std::string indices, reasons;
    for (const diopi::Row& row : diopi::rows()) {
        const diopi::torch_impl::Plans plans = diopi::torch_impl::make_plans(row);
        if (plans.plans.empty()) {
            reasons += "    R\"(" + std::string(row.function) + ": " + reason_of(row, plans) + "\n)\"\n";
            continue;
        }
        std::printf("\n%s", text_of(row.index()).c_str());
        indices += (indices.empty() ? "" : ", ") + std::to_string(row.index());
    }
    std::printf(
        "\n}  // extern \"C\"\n\nstd::span<const size_t> diopi::torch_impl::entries() {\n"
        "    static constexpr size_t kEntries[] = {%s};\n    return kEntries;\n}\n",
        indices.c_str());
    std::printf(
        "\n// diopi report --audit reads it (docs/plugins.md).\n"
        "[[gnu::section(\".diopi_reasons\"), gnu::used]] static const char kReasons[] =\n%s;\n",
        reasons.c_str());
    return std::fflush(stdout) == 0 ? 0 : 1;
}

/// One line per function: the overloads that serve it, or why none does.
int print_table() {
    size_t served = 0;
    for (const diopi::Row& row : diopi::rows()) {
        const diopi::torch_impl::Plans plans = diopi::torch_impl::make_plans(row);
        std::string text;
        for (const diopi::torch_impl::Plan& plan : plans.plans) {
            text += text.empty() ? "" : ", ";
            text += (plan.gradients.empty() ? "" : "gradient of ") + c10::toString(plan.op.operator_name());
            for (const auto& more : plan.more) text += " and " + c10::toString(more.op.operator_name());
        }
        if (!plans.plans.empty()) {
            ++served;
        } else {
            text = "none: " + reason_of(row, plans);
        }
        std::printf("%s: %s\n", row.function.data(), text.c_str());
    }
    std::printf("PyTorch %s: %zu of %zu functions\n", TORCH_VERSION, served, diopi::rows().size());
    return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    return argc > 1 && std::string(argv[1]) == "--entries" ? print_entries() : print_table();
}
