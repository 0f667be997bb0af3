/// XXH64, the 64-bit checksum of baseline files and of drawn inputs. It finds accidents, not forgeries.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/status.hpp"
#include "core/tensor.hpp"

namespace diopi {

/// Computes the checksum of bytes; how they are split into updates does not matter.
/// Source: the XXH64 specification (seed 0).
class Checksum {
 public:
    Checksum();
    void update(const void* data, size_t nbytes);
    [[nodiscard]] uint64_t value() const;
    /// 16 hexadecimal digits.
    [[nodiscard]] std::string hex() const;

 private:
    void consume(const std::byte* data, size_t blocks);

    std::array<uint64_t, 4> lanes_;
    std::array<std::byte, 32> pending_{};
    size_t pending_size_ = 0;
    uint64_t total_ = 0;
};

/// Checksum of a file's bytes.
[[nodiscard]] Result<std::string> checksum_of_file(const std::string& path);

/// Checksum of the elements of a host tensor in row-major order, whatever its strides.
[[nodiscard]] Result<std::string> checksum_of_tensor(const Tensor& tensor);

}  // namespace diopi
