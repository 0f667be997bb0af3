#include "operands.hpp"

#include <algorithm>
#include <cmath>

namespace diopi::bench {

TensorPtr random_tensor(const Shape& shape, uint32_t seed) {
    auto made = make_tensor(cpu_device(), {shape, Dtype::float32});
    if (!made.ok()) throw std::runtime_error("no memory for a tensor of shape " + to_string(shape));
    auto* data = (*made)->data_as<float>();
    uint32_t state = seed * 2654435761U + 12345U;
    for (int64_t i = 0; i < (*made)->numel(); ++i) {
        state = state * 1664525U + 1013904223U;
        data[i] = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31F;
    }
    return *made;
}

bool agree(const Tensor& a, const Tensor& b) {
    float largest = 0, difference = 0;
    for (int64_t i = 0; i < a.numel(); ++i) {
        largest = std::max(largest, std::abs(b.data_as<float>()[i]));
        const float here = std::abs(a.data_as<float>()[i] - b.data_as<float>()[i]);
        if (!(here <= difference)) difference = here;
    }
    return difference <= 1e-4F * largest;
}

}  // namespace diopi::bench
