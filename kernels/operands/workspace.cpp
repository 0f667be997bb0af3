#include "kernels/operands/workspace.hpp"

#include <algorithm>
#include <string>

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

diopiError_t read_workspace(std::string_view op, std::string_view argument, diopiTensorHandle_t workspace,
                            int64_t bytes, int64_t wanted, std::byte*& memory) {
    memory = nullptr;
    if (wanted == 0) return diopiSuccess;
    const View v = workspace == nullptr ? View{} : view(workspace);
    const int64_t usable = v.is_contiguous() ? std::min(bytes, v.numel * v.item_size()) : 0;
    if (usable < wanted) {
        return refuse(op, std::string(argument) + " has " + std::to_string(usable) + " bytes in a row, wanted " +
                              std::to_string(wanted) + ": a negative size asks for the number");
    }
    memory = v.data;
    return diopiSuccess;
}

}  // namespace diopi::operands
