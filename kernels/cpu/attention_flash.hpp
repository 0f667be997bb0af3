/// The blocks of attention: some queries of a head and some keys of their sequence.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/normal.hpp"
#include "kernels/cpu/attention_flash_rows.hpp"
#include "kernels/cpu/convert.hpp"
#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/operands/attention_flash.hpp"

namespace diopi::cpu {

/// The sizes of a block: its scores and the rows that they belong to stay in the L2 cache. Measured on an AMD EPYC
/// (Zen 5) guest of two cores.
constexpr int64_t kQueryBlock = 192, kKeyBlock = 256;
/// Elements from row to row of a block's numbers: at a power of 2, those of a column would share a few cache lines.
constexpr int64_t kPitch = kKeyBlock + 16;

/// Rows of a tensor as elements of T.
template <class T>
struct RowView {
    const T* data = nullptr;
    int64_t stride = 0;
    int64_t rows = 0;

    /// `rows` rows of `dim` elements: where they are, or converted into `room`.
    template <class E>
    [[nodiscard]] static RowView of(const E* from, int64_t stride, int64_t rows, int64_t dim, T* room) {
        if constexpr (std::is_same_v<E, T>) {
            return {from, stride, rows};
        } else {
            const Convert convert = converter(kComputeDtype<E>, kComputeDtype<T>);
            for (int64_t i = 0; i < rows; ++i) convert(from + i * stride, room + i * dim, dim);
            return {room, dim, rows};
        }
    }
    [[nodiscard]] bool is_finite(int64_t dim) const {
        bool none = true;
        for (int64_t i = 0; i < rows; ++i) {
            const T* row = data + i * stride;
            int bad = 0;  // a product with 0 is not 0 of any infinity and NaN
            for (int64_t c = 0; c < dim; ++c) bad |= row[c] * T{0} != 0 ? 1 : 0;
            none = none && bad == 0;
        }
        return none;
    }
    [[nodiscard]] MatrixView<T> matrix() const { return {data, stride, 1}; }
    [[nodiscard]] MatrixView<T> transposed() const { return {data, 1, stride}; }
};

/// Stores rows of `dim` elements, one behind the other, as elements of E.
template <class E, class T>
void store_rows(const T* from, int64_t rows, int64_t dim, E* to, int64_t stride) {
    const Convert convert = std::is_same_v<E, T> ? nullptr : converter(kComputeDtype<T>, kComputeDtype<E>);
    for (int64_t i = 0; i < rows; ++i) {
        if (convert == nullptr)
            std::copy_n(from + i * dim, dim, reinterpret_cast<T*>(to + i * stride));
        else
            convert(from + i * dim, to + i * stride, dim);
    }
}

/// A block of keys and the queries that may see them. Rows of its numbers are `kPitch` apart.
template <class T>
struct AttentionBlock {
    const operands::Attention& a;
    const operands::SequencePair& s;
    int64_t head, first_query, queries, first_key, keys;

    /// The keys of the block that the windows leave to query i of it, from its first key on.
    [[nodiscard]] operands::KeyRange range(int64_t i) const {
        const operands::KeyRange all = a.keys(s, first_query + i);
        return {std::clamp<int64_t>(all.first - first_key, 0, keys),
                std::clamp<int64_t>(all.last - first_key, 0, keys)};
    }
    /// The flags of the keys of query i; null where there is no mask.
    [[nodiscard]] const bool* hidden(int64_t i) const {
        return a.mask.data == nullptr ? nullptr : a.mask.as<bool>() + (first_query + i) * a.max_k + first_key;
    }
    [[nodiscard]] bool sees_all() const {
        const operands::KeyRange first = range(0), last = range(queries - 1);
        return a.mask.data == nullptr && first.first == 0 && last.first == 0 && first.last == keys && last.last == keys;
    }
    /// scores = the scaled products with the slopes of ALiBi, -infinity where the mask hides a key; gives the largest
    /// of the row. Only numbers of its range count.
    T score_row(int64_t i, T* row, T slope) const {
        const operands::KeyRange keys_of = range(i);
        const auto& kernels = std::get<AttentionRowKernels<T>>(attention_row_table());
        const T place = static_cast<T>(operands::Attention::position(s, first_query + i) - first_key - keys_of.first);
        const int64_t n = keys_of.last - keys_of.first;
        T* seen = row + keys_of.first;
        const T most = kernels.score(seen, n, static_cast<T>(a.scale), slope, place);
        const bool* flags = hidden(i);
        if (flags == nullptr) return most;
        T left = -std::numeric_limits<T>::infinity();
        for (int64_t j = 0; j < n; ++j) {
            if (flags[keys_of.first + j]) seen[j] = -std::numeric_limits<T>::infinity();
            left = std::max(left, seen[j]);
        }
        return left;
    }
    /// Sets the numbers of hidden keys to 0.
    void clear_hidden(int64_t i, T* row) const {
        const operands::KeyRange keys_of = range(i);
        std::fill(row, row + keys_of.first, T{0});
        std::fill(row + keys_of.last, row + keys, T{0});
        const bool* flags = hidden(i);
        for (int64_t j = keys_of.first; flags != nullptr && j < keys_of.last; ++j) {
            if (flags[j]) row[j] = 0;
        }
    }
    /// sums += numbers * rows of keys. Where a row is not finite, hidden keys must not count as 0 times it.
    void add_keys(const T* numbers, const RowView<T>& rows, T* sums, int64_t dim) const {
        if (sees_all() || rows.is_finite(dim)) {
            return gemm<T>(queries, dim, keys, {numbers, kPitch, 1}, rows.matrix(), sums, dim, true);
        }
        for_each_seen([&](int64_t i, int64_t j) {
            for (int64_t c = 0; c < dim; ++c) {
                sums[i * dim + c] += numbers[i * kPitch + j] * rows.data[j * rows.stride + c];
            }
        });
    }
    /// sums += the transpose of numbers, times rows of queries.
    void add_queries(const T* numbers, const RowView<T>& rows, T* sums, int64_t dim) const {
        if (sees_all() || rows.is_finite(dim)) {
            return gemm<T>(keys, dim, queries, {numbers, 1, kPitch}, rows.matrix(), sums, dim, true);
        }
        for_each_seen([&](int64_t i, int64_t j) {
            for (int64_t c = 0; c < dim; ++c) {
                sums[j * dim + c] += numbers[i * kPitch + j] * rows.data[i * rows.stride + c];
            }
        });
    }

 private:
    template <class Visit>
    void for_each_seen(const Visit& visit) const {
        for (int64_t i = 0; i < queries; ++i) {
            const operands::KeyRange keys_of = range(i);
            const bool* flags = hidden(i);
            for (int64_t j = keys_of.first; j < keys_of.last; ++j) {
                if (flags == nullptr || !flags[j]) visit(i, j);
            }
        }
    }
};

/// Factors of shares: 0 for the elements that a dropout drops, 1 / (1 - p) for the others.
template <class T>
class DropoutRow {
 public:
    explicit DropoutRow(const operands::Attention& a)
        : a_(a),
          below_(static_cast<uint32_t>(std::ceil((1 - a.p_dropout) * 0x1p24))),
          kept_(static_cast<T>(1 / (1 - a.p_dropout))) {}

    explicit operator bool() const { return a_.p_dropout > 0; }
    /// Multiplies the numbers of the keys of query i of the block by them.
    void multiply(const AttentionBlock<T>& block, int64_t i, T* row) {
        const int64_t first = a_.first_word(block.s, block.head, block.first_query + i) + block.first_key;
        word_block(a_.drawn.seed, a_.drawn.offset, first, {words_, static_cast<size_t>(block.keys)});
        for (int64_t j = 0; j < block.keys; ++j) row[j] = (words_[j] >> 8) < below_ ? row[j] * kept_ : T{0};
    }

 private:
    const operands::Attention& a_;
    uint32_t below_;
    T kept_;
    uint32_t words_[kKeyBlock];
};

}  // namespace diopi::cpu
