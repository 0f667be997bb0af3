#include "kernels/operands/workspace.hpp"

#include <catch2/catch.hpp>

#include "core/tensor.hpp"
#include "runtime/context.hpp"
#include "runtime/device.hpp"

namespace diopi::operands {

TEST_CASE("a negative size asks for the size of the workspace, and another is kept") {
    int64_t bytes = -3;
    CHECK(asks_for_size(bytes, 40));
    CHECK(bytes == 40);
    CHECK_FALSE(asks_for_size(bytes, 64));
    CHECK(bytes == 40);
}

TEST_CASE("a workspace that is too small, has gaps or is absent is refused") {
    const TensorPtr dense = *make_tensor(cpu_device(), {{40}, Dtype::uint8, {}});
    const TensorPtr gapped = *make_tensor(cpu_device(), {{40}, Dtype::uint8, {2}});
    std::byte* memory = nullptr;
    CHECK(read_workspace("diopiF", "workspace", dense.get(), 40, 40, memory) == diopiSuccess);
    CHECK(memory == dense->data());
    CHECK(read_workspace("diopiF", "workspace", nullptr, 0, 0, memory) == diopiSuccess);
    CHECK(memory == nullptr);
    CHECK(read_workspace("diopiF", "workspace", dense.get(), 39, 40, memory) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("diopiF: workspace has 39 bytes in a row, wanted 40"));
    CHECK(read_workspace("diopiF", "workspace", dense.get(), 99, 41, memory) == diopiErrorOccurred);
    CHECK(read_workspace("diopiF", "workspace", gapped.get(), 40, 40, memory) == diopiErrorOccurred);
    CHECK(read_workspace("diopiF", "workspace", nullptr, 40, 40, memory) == diopiErrorOccurred);
}

}  // namespace diopi::operands
