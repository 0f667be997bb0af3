#include "core/strided.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <numeric>

namespace diopi {

namespace {

/// A tensor of these strides, in memory of which each byte is `fill`.
Tensor strided(const Shape& shape, const Shape& strides, Dtype dtype, uint8_t fill) {
    int64_t last = 0;
    for (size_t d = 0; d < shape.size(); ++d) last += (shape[d] - 1) * strides[d];
    Tensor tensor;
    tensor.shape = shape;
    tensor.strides = strides;
    tensor.dtype = dtype;
    tensor.storage.nbytes = static_cast<size_t>(last + 1) * size_of(dtype);
    auto memory = std::make_shared<std::vector<uint8_t>>(tensor.storage.nbytes, fill);
    tensor.storage.memory = {memory, memory->data()};
    return tensor;
}

const std::byte* element(const Tensor& tensor, int64_t offset) {
    return tensor.data_as<const std::byte>() + offset * static_cast<int64_t>(size_of(tensor.dtype));
}

/// Elements that differ, and bytes of `to` between its elements that changed.
int64_t count_wrong(const Tensor& from, const Tensor& to, uint8_t fill) {
    const size_t size = size_of(from.dtype);
    std::vector<bool> covered(to.storage.nbytes);
    int64_t wrong = 0;
    for_each_offset_pair(from.shape, from.strides, to.strides, [&](int64_t source, int64_t target) {
        wrong += std::memcmp(element(from, source), element(to, target), size) == 0 ? 0 : 1;
        std::fill_n(covered.begin() + target * static_cast<int64_t>(size), size, true);
    });
    for (size_t i = 0; i < covered.size(); ++i) {
        wrong += covered[i] || to.data_as<const uint8_t>()[i] == fill ? 0 : 1;
    }
    return wrong;
}

}  // namespace

TEST_CASE("a copy of a strided tensor has each element at its place, and nothing between them") {
    struct Layouts {
        Shape shape, from, to;
    };
    for (const auto& [shape, from, to] :
         {Layouts{{}, {}, {}}, Layouts{{70}, {3}, {1}}, Layouts{{70}, {1}, {2}}, Layouts{{1, 1}, {1, 1}, {9, 9}},
          // Transposed on either side, with parts of a square left over.
          Layouts{{45, 70}, {1, 45}, {70, 1}}, Layouts{{45, 70}, {70, 1}, {1, 45}}, Layouts{{3, 70}, {1, 40}, {70, 1}},
          Layouts{{70, 3}, {1, 90}, {5, 1}}, Layouts{{5, 1, 33}, {1, 7, 50}, {33, 33, 1}},
          // The innermost dim of the memory is not the last one, first or in the middle.
          Layouts{{2, 5, 40, 33}, {1, 2640, 2, 80}, {6600, 1320, 33, 1}},
          Layouts{{3, 34, 2, 35}, {2380, 1, 34, 68}, {2380, 70, 35, 1}},
          // A repeated row and a repeated element.
          Layouts{{40, 50}, {0, 1}, {50, 1}}, Layouts{{40, 50}, {10, 0}, {50, 1}}}) {
        for (const Dtype dtype : {Dtype::int8, Dtype::float16, Dtype::float32, Dtype::float64, Dtype::complex128}) {
            CAPTURE(shape, from, to, name(dtype));
            const Tensor source = strided(shape, from, dtype, 0), target = strided(shape, to, dtype, 0xaa);
            auto* bytes = source.data_as<uint8_t>();
            for (size_t i = 0; i < source.storage.nbytes; ++i) bytes[i] = static_cast<uint8_t>(i * 37 + i / 251);
            copy_strided(source, target);
            CHECK(count_wrong(source, target, 0xaa) == 0);
        }
    }
}

}  // namespace diopi
