#include "call/tensors.hpp"

#include <cstring>
#include <memory>

namespace diopi {

std::optional<Tensor> given_number(const Call& call, size_t arg) {
    if (!call.row->args()[arg].gives_number) return {};
    const auto made = [](Dtype dtype, const auto& number) {
        Tensor tensor;
        tensor.dtype = dtype;
        tensor.storage.nbytes = sizeof(number);
        tensor.storage.memory = std::shared_ptr<std::byte[]>(new std::byte[sizeof(number)]);
        std::memcpy(tensor.storage.memory.get(), &number, sizeof(number));
        return tensor;
    };
    if (const auto* truth = std::get_if<bool>(&call.args[arg])) return made(Dtype::boolean, *truth);
    if (const auto* number = std::get_if<double>(&call.args[arg])) return made(Dtype::float64, *number);
    return {};
}

}  // namespace diopi
