#include "file/checksum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "core/input_file.hpp"
#include "runtime/device.hpp"

namespace diopi {

namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87u;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4Fu;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9u;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63u;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5u;
constexpr size_t kBlock = 32;

template <class T>
T load(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

uint64_t round_lane(uint64_t lane, uint64_t input) { return std::rotl(lane + input * kPrime2, 31) * kPrime1; }

uint64_t merge_lane(uint64_t hash, uint64_t lane) { return (hash ^ round_lane(0, lane)) * kPrime1 + kPrime4; }

uint64_t avalanche(uint64_t hash) {
    hash = (hash ^ (hash >> 33)) * kPrime2;
    hash = (hash ^ (hash >> 29)) * kPrime3;
    return hash ^ (hash >> 32);
}

}  // namespace

Checksum::Checksum() : lanes_{kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1} {}

void Checksum::consume(const std::byte* data, size_t blocks) {
    auto [a, b, c, d] = lanes_;  // kept in registers during the loop
    for (; blocks > 0; --blocks, data += kBlock) {
        a = round_lane(a, load<uint64_t>(data));
        b = round_lane(b, load<uint64_t>(data + 8));
        c = round_lane(c, load<uint64_t>(data + 16));
        d = round_lane(d, load<uint64_t>(data + 24));
    }
    lanes_ = {a, b, c, d};
}

void Checksum::update(const void* data, size_t nbytes) {
    if (nbytes == 0) return;
    const auto* bytes = static_cast<const std::byte*>(data);
    total_ += nbytes;
    if (pending_size_ > 0) {
        const size_t taken = std::min(nbytes, kBlock - pending_size_);
        std::memcpy(pending_.data() + pending_size_, bytes, taken);
        pending_size_ += taken;
        bytes += taken;
        nbytes -= taken;
        if (pending_size_ < kBlock) return;
        consume(pending_.data(), 1);
        pending_size_ = 0;
    }
    consume(bytes, nbytes / kBlock);
    pending_size_ = nbytes % kBlock;
    std::memcpy(pending_.data(), bytes + (nbytes - pending_size_), pending_size_);
}

uint64_t Checksum::value() const {
    uint64_t hash = kPrime5;
    if (total_ >= kBlock) {
        hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) + std::rotl(lanes_[3], 18);
        for (const uint64_t lane : lanes_) hash = merge_lane(hash, lane);
    }
    hash += total_;
    const std::byte* at = pending_.data();
    size_t left = pending_size_;
    for (; left >= 8; left -= 8, at += 8) {
        hash = std::rotl(hash ^ round_lane(0, load<uint64_t>(at)), 27) * kPrime1 + kPrime4;
    }
    if (left >= 4) {
        hash = std::rotl(hash ^ (uint64_t{load<uint32_t>(at)} * kPrime1), 23) * kPrime2 + kPrime3;
        at += 4;
        left -= 4;
    }
    for (; left > 0; --left, ++at) hash = std::rotl(hash ^ (uint64_t{load<uint8_t>(at)} * kPrime5), 11) * kPrime1;
    return avalanche(hash);
}

std::string Checksum::hex() const { return fmt::format("{:016x}", value()); }

Result<std::string> checksum_of_file(const std::string& path) {
    if (Status s = check_input_file(path); !s.ok()) return s.error();
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
    if (!file) return failed(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    std::vector<std::byte> buffer(size_t{1} << 20);
    Checksum sum;
    while (const size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get())) sum.update(buffer.data(), got);
    if (std::ferror(file.get()) != 0) return failed(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    return sum.hex();
}

Result<std::string> checksum_of_tensor(const Tensor& tensor) {
    Checksum sum;
    if (tensor.is_contiguous()) {
        sum.update(tensor.data(), tensor.nbytes());
        return sum.hex();
    }
    auto packed = to_host(cpu_device(), nullptr, tensor);
    if (!packed.ok()) return packed.error();
    sum.update((*packed)->data(), (*packed)->nbytes());
    return sum.hex();
}

}  // namespace diopi
