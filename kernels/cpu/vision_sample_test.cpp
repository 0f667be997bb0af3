#include <cmath>

#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

TEST_CASE("elements that are not near a point do not reach it, even if they are NaN", "[cpu][grid_sample]") {
    diopiContext ctx(cpu_device());
    const char* mode = GENERATE("nearest", "bilinear", "bicubic");
    const auto run = [&]<class T>(T, Dtype dtype) {
        // More points than are summed together; with points outside of the image among them, and without.
        constexpr int64_t kPoints = 150, kSize = 8;
        const auto image = unwritten({1, 2, kSize, kSize}, dtype), grid = unwritten({1, 1, kPoints, 2}, dtype);
        const auto out = unwritten({1, 2, 1, kPoints}, dtype);
        T* x = image->template data_as<T>();
        for (int64_t i = 0; i < 2 * kSize * kSize; ++i) x[i] = i % (kSize * kSize) == 0 ? T(NAN) : T(3);
        for (const bool some_outside : {false, true}) {
            T* points = grid->template data_as<T>();
            const auto is_outside = [&](int64_t p) { return some_outside && p % 3 == 0; };
            for (int64_t p = 0; p < kPoints; ++p) {
                points[2 * p] = is_outside(p) ? T(5) : T(p % 7) / 16;
                points[2 * p + 1] = is_outside(p) ? T(p % 2 == 0 ? -7 : NAN) : T(p % 5) / 16;
            }
            CAPTURE(mode, name(dtype), some_outside);
            REQUIRE(cpu::diopiGridSample(&ctx, out.get(), image.get(), grid.get(), mode) == diopiSuccess);
            const Values came = values(*out);
            for (int64_t i = 0; i < 2 * kPoints; ++i) {
                const double wanted = is_outside(i % kPoints) ? 0 : 3;
                CHECK(std::fabs(came[static_cast<size_t>(i)] - wanted) < 1e-5);
            }
        }
    };
    run(float(), Dtype::float32);
    run(double(), Dtype::float64);
}
