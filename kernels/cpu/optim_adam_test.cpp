#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

TEST_CASE("amsgrad needs its tensor, and all tensors need one shape") {
    diopiContext ctx(cpu_device());
    const auto p = unwritten({2}, Dtype::float32), other = unwritten({3}, Dtype::float32);
    CHECK(cpu::diopiAdam(&ctx, p.get(), p.get(), p.get(), p.get(), nullptr, 1, 0, 0, 1, 0, 1, true) ==
          diopiErrorOccurred);
    CHECK(last_error() == "diopiAdam: max_exp_avg_sq is null, wanted a tensor for amsgrad");
    CHECK(cpu::diopiAdamW(&ctx, p.get(), p.get(), other.get(), p.get(), nullptr, 1, 0, 0, 1, 0, 1, false) ==
          diopiErrorOccurred);
    CHECK(last_error() == "diopiAdamW: exp_avg has shape (3,), wanted param's (2,)");
}
