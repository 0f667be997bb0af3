#include <algorithm>
#include <cmath>

#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

TEST_CASE("a region of any size has few samples inside of an image", "[cpu][roi_align]") {
    diopiContext ctx(cpu_device());
    const float far = GENERATE(1e5F, 1e9F, 1e18F, 3e38F);
    const auto image = random({1, 2, 4, 5}, Dtype::float32, 1), rois = unwritten({1, 5}, Dtype::float32);
    const auto out = unwritten({1, 2, 3, 3}, Dtype::float32);
    const float corners[] = {0, -far, -far, far, far};
    std::copy_n(corners, 5, rois->data_as<float>());
    REQUIRE(cpu::diopiRoiAlign(&ctx, out.get(), image.get(), rois.get(), 1, 3, 3, -1, true) == diopiSuccess);
    const Values means = values(*out);
    // In the middle bin the image is a part of a large region of zeros; all other bins have nothing else.
    for (size_t i = 0; i < means.size(); ++i) {
        if (i % 9 != 4) CHECK(means[i] == 0);
        CHECK(std::fabs(means[i]) < 1e-6);
    }
}
