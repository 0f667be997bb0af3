#include "check/magnitudes.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/convert.hpp"
#include "runtime/device.hpp"

namespace diopi {

TEST_CASE("magnitudes of large tensors of any layout are those of their elements") {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    struct Layout {
        Shape shape, strides;
    };
    // More elements than a part: rows of several parts, many rows in a part, transposed, and with a dim of one index.
    for (const auto& [shape, strides] :
         {Layout{{3, 40'000}, {40'000, 1}}, Layout{{20'000, 3}, {3, 1}}, Layout{{300, 200}, {1, 300}},
          Layout{{1, 2, 50'000}, {100'000, 1, 2}}, Layout{{50'000}, {2}}, Layout{{5}, {1}}}) {
        CAPTURE(shape, strides);
        int64_t room = 1;
        for (size_t d = 0; d < shape.size(); ++d) room += (shape[d] - 1) * strides[d];
        for (const Sign sign : {Sign::kKept, Sign::kDropped, Sign::kDroppedAndFinite}) {
            auto memory = make_tensor(cpu_device(), {{room}, Dtype::float32, {}});
            auto came = make_tensor(cpu_device(), {shape, Dtype::float64, {}});
            auto wanted = make_tensor(cpu_device(), {shape, Dtype::float64, {}});
            REQUIRE((memory.ok() && came.ok() && wanted.ok()));
            auto* x = (*memory)->data_as<float>();
            for (int64_t i = 0; i < room; ++i) x[i] = static_cast<float>(i % 7001 - 3500);
            x[room - 1] = static_cast<float>(-kInf);
            Tensor from = **memory;
            from.shape = shape;
            from.strides = strides;
            widen_magnitudes(from, **came, sign);
            widen(from, **wanted);
            take_magnitudes(**wanted, sign);
            CHECK(std::memcmp((*came)->data(), (*wanted)->data(), (*wanted)->nbytes()) == 0);
            const double last = (*came)->data_as<double>()[(*came)->numel() - 1];
            CHECK(last == (sign == Sign::kKept ? -kInf : sign == Sign::kDropped ? kInf : 0.0));
        }
    }
}

}  // namespace diopi
