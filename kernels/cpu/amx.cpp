#include "kernels/cpu/amx.hpp"

#include <algorithm>

#include "kernels/cpu/onednn_api.hpp"
#include "kernels/cpu/packing_space.hpp"
#include "kernels/cpu/threads.hpp"

#if defined(__x86_64__)
#include <hwy/base.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

// GCC 12 takes the undefined vectors within its own intrinsics for ours (PR 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

HWY_PUSH_ATTRIBUTES("amx-tile,amx-bf16,avx512bf16,avx512f,avx512bw,avx512vl")
namespace diopi::cpu {

namespace {

/// A tile has 16 rows of 64 bytes. A row of a tile of sums holds 16 of them; a row of an operand holds 32 terms of a
/// line (a row of a, or a column of b), or 16 lines' pairs of neighbouring terms.
constexpr int64_t kLines = 16, kTerms = 32, kTile = kLines * kTerms;
/// Operands are packed in panels of two tiles, so that each tile that is loaded has two uses.
constexpr int64_t kPanelLines = 2 * kLines, kPanelTile = 2 * kTile;

/// The columns and terms of b that are packed at one time: their memory stays in the cache of level 2. For longer sums,
/// those of kRowBlock rows wait while other terms are packed.
constexpr int64_t kColumnBlock = 512, kDepthBlock = 1024, kRowBlock = 256;

/// The packing buffers of a thread.
struct alignas(64) Space {
    Bfloat16 b[kDepthBlock * kColumnBlock];
    Bfloat16 a[kDepthBlock * kPanelLines];
    float sums[kRowBlock * kColumnBlock];
};

/// All tiles whole.
struct alignas(64) TileConfig {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// The rows of a tile.
struct Rows {
    __m512i row[kLines];
};

void store(const Rows& rows, Bfloat16* to) {
    for (int64_t i = 0; i < kLines; ++i) _mm512_store_si512(to + i * kTerms, rows.row[i]);
}

/// Exchanges rows and columns of 32 bits.
void transpose(Rows& rows) {
    __m512i* const x = rows.row;
    __m512i y[kLines];
    for (int64_t i = 0; i < 16; i += 2) {
        y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
    }
    for (int64_t i = 0; i < 16; i += 4) {
        x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
        x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
        x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
        x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
    }
    constexpr int kEven = 0x88, kOdd = 0xdd;  // which quarters of two vectors are taken
    for (int64_t i = 0; i < 4; ++i) {
        y[i] = _mm512_shuffle_i32x4(x[i], x[i + 4], kEven);
        y[i + 4] = _mm512_shuffle_i32x4(x[i], x[i + 4], kOdd);
        y[i + 8] = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], kEven);
        y[i + 12] = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], kOdd);
    }
    for (int64_t i = 0; i < 4; ++i) {
        x[i] = _mm512_shuffle_i32x4(y[i], y[i + 8], kEven);
        x[i + 8] = _mm512_shuffle_i32x4(y[i], y[i + 8], kOdd);
        x[i + 4] = _mm512_shuffle_i32x4(y[i + 4], y[i + 12], kEven);
        x[i + 12] = _mm512_shuffle_i32x4(y[i + 4], y[i + 12], kOdd);
    }
}

/// The bits of the first `count` of 32 elements.
__mmask32 first_of(int64_t count) { return count >= 32 ? ~__mmask32{0} : (__mmask32{1} << count) - 1; }

/// Returns a tile with one row for each line. The terms of a line are neighbours in memory. Missing elements are 0.
Rows load_lines(const Bfloat16* from, int64_t stride, int64_t lines, int64_t terms) {
    const __mmask32 present = first_of(terms);
    Rows rows;
    for (int64_t i = 0; i < kLines; ++i) {
        rows.row[i] = i < lines ? _mm512_maskz_loadu_epi16(present, from + i * stride) : _mm512_setzero_si512();
    }
    return rows;
}

/// Fills two tiles, each with one row for each pair of terms. The lines are neighbours in memory. Missing elements are
/// 0.
void load_pairs(const Bfloat16* from, int64_t stride, int64_t lines, int64_t terms, Rows& left, Rows& right) {
    const __mmask32 present = first_of(lines);
    const auto load = [&](int64_t term) {
        if (term >= terms) return _mm512_setzero_si512();
        // The instructions below take the lower and upper halves of each quarter.
        const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
        return _mm512_permutexvar_epi64(order, _mm512_maskz_loadu_epi16(present, from + term * stride));
    };
    for (int64_t i = 0; i < kLines; ++i) {
        const __m512i even = load(2 * i), odd = load(2 * i + 1);
        left.row[i] = _mm512_unpacklo_epi16(even, odd);
        right.row[i] = _mm512_unpackhi_epi16(even, odd);
    }
}

/// The form of an operand's tiles: `lines` for a, `pairs` for b.
enum class Form { lines, pairs };

/// Packs a panel: for every kTerms of its terms the tiles of the first and of the second kLines lines. One of the
/// strides, which count elements, is 1.
template <Form kForm>
void pack(const Bfloat16* from, int64_t line_stride, int64_t term_stride, int64_t lines, int64_t depth, Bfloat16* to) {
    const bool has_terms_in_line = term_stride == 1;
    for (int64_t k = 0; k < depth; k += kTerms, to += kPanelTile) {
        const int64_t terms = std::min(kTerms, depth - k);
        Rows left, right;
        if (has_terms_in_line) {
            left = load_lines(from + k, line_stride, lines, terms);
            right = load_lines(from + k + kLines * line_stride, line_stride, lines - kLines, terms);
        } else {
            load_pairs(from + k * term_stride, term_stride, lines, terms, left, right);
        }
        if (has_terms_in_line != (kForm == Form::lines)) {
            transpose(left);
            transpose(right);
        }
        store(left, to);
        store(right, to + kTile);
    }
}

/// The sums (32, 32) of a panel of a and one of b, which have `tiles` times kTerms terms.
void multiply(const Bfloat16* a, const Bfloat16* b, int64_t tiles, float* sums, bool accumulate) {
    constexpr int64_t kLower = kLines * kPanelLines, kRight = kLines;  // where the other tiles of sums are
    constexpr int kSumPitch = kPanelLines * sizeof(float), kPitch = kTerms * sizeof(Bfloat16);
    if (accumulate) {
        _tile_loadd(0, sums, kSumPitch);
        _tile_loadd(1, sums + kRight, kSumPitch);
        _tile_loadd(2, sums + kLower, kSumPitch);
        _tile_loadd(3, sums + kLower + kRight, kSumPitch);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (int64_t i = 0; i < tiles; ++i, a += kPanelTile, b += kPanelTile) {
        _tile_loadd(4, a, kPitch);
        _tile_loadd(5, a + kTile, kPitch);
        _tile_loadd(6, b, kPitch);
        _tile_loadd(7, b + kTile, kPitch);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, sums, kSumPitch);
    _tile_stored(1, sums + kRight, kSumPitch);
    _tile_stored(2, sums + kLower, kSumPitch);
    _tile_stored(3, sums + kLower + kRight, kSumPitch);
}

__m512 load(__mmask16 present, const float* from) { return _mm512_maskz_loadu_ps(present, from); }
__m512 load(__mmask16 present, const Bfloat16* from) {
    const __m512i bits = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(present, from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
}

/// Rounds as to_bfloat16 does.
__m256i rounded(__m512 x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i last = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(last, _mm512_set1_epi32(0x7fff)));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_mask_blend_epi32(is_nan, up, quiet), 16));
}
/// The same by the units, which write 0 for denormals: no sum of products is one (suit_bfloat16_units).
__m256i rounded_by_units(__m512 x) { return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)); }

void store(__mmask16 present, __m512 x, bool, float* to) { _mm512_mask_storeu_ps(to, present, x); }
void store(__mmask16 present, __m512 x, bool may_be_denormal, Bfloat16* to) {
    _mm256_mask_storeu_epi16(to, present, may_be_denormal ? rounded(x) : rounded_by_units(x));
}

/// A part of c with the operands that its sums have.
template <class T>
struct Part {
    MatrixView<Bfloat16> a, b;
    const T* bias;
    T* c;
    int64_t c_stride;
    int64_t m, n, k;
    ScaledSum<T> sum;

    [[nodiscard]] Part rows(int64_t first, int64_t count) const {
        Part part = *this;
        part.a.data += first * a.row_stride;
        part.c += first * c_stride;
        if (sum.addend != nullptr) part.sum.addend += first * c_stride;
        part.m = count;
        return part;
    }
    [[nodiscard]] Part columns(int64_t first, int64_t count) const {
        Part part = *this;
        part.b.data += first * b.column_stride;
        if (bias != nullptr) part.bias += first;
        part.c += first;
        if (sum.addend != nullptr) part.sum.addend += first;
        part.n = count;
        return part;
    }
};

/// Writes at most 32 x 32 elements of c.
template <class T>
void write(const float* sums, const Part<T>& part) {
    const auto& [addend, alpha, beta] = part.sum;
    const bool is_scaled = addend != nullptr || alpha != 1;
    const __m512 alphas = _mm512_set1_ps(alpha), betas = _mm512_set1_ps(beta);
    for (int64_t j = 0; j < part.n; j += kLines) {
        const auto present = static_cast<__mmask16>(first_of(std::min(part.n - j, kLines)));
        const __m512 bias = part.bias == nullptr ? _mm512_setzero_ps() : load(present, part.bias + j);
        for (int64_t i = 0; i < part.m; ++i) {
            const int64_t place = i * part.c_stride + j;
            __m512 x = _mm512_load_ps(sums + i * kPanelLines + j);
            if (part.bias != nullptr) x = _mm512_add_ps(x, bias);
            if (addend != nullptr) {
                x = _mm512_fmadd_ps(alphas, x, _mm512_mul_ps(betas, load(present, addend + place)));
            } else if (is_scaled) {
                x = _mm512_mul_ps(alphas, x);
            }
            store(present, x, is_scaled, part.c + place);
        }
    }
}

/// At most kColumnBlock columns, and kRowBlock rows unless all terms fit into one block.
template <class T>
void multiply_block(const Part<T>& part, Space& space) {
    const MatrixView<Bfloat16>&a = part.a, &b = part.b;
    for (int64_t start = 0; start < part.k; start += kDepthBlock) {
        const int64_t depth = std::min(kDepthBlock, part.k - start), tiles = (depth + kTerms - 1) / kTerms;
        for (int64_t j = 0; j < part.n; j += kPanelLines) {
            pack<Form::pairs>(b.data + start * b.row_stride + j * b.column_stride, b.column_stride, b.row_stride,
                              std::min(kPanelLines, part.n - j), depth, space.b + j * tiles * kTerms);
        }
        for (int64_t i = 0; i < part.m; i += kPanelLines) {
            const Part<T> rows = part.rows(i, std::min(kPanelLines, part.m - i));
            pack<Form::lines>(rows.a.data + start * a.column_stride, a.row_stride, a.column_stride, rows.m, depth,
                              space.a);
            for (int64_t j = 0; j < part.n; j += kPanelLines) {
                const int64_t place = part.k > kDepthBlock ? i * kColumnBlock + j * kPanelLines : 0;
                multiply(space.a, space.b + j * tiles * kTerms, tiles, space.sums + place, start > 0);
                if (start + depth < part.k) continue;
                write(space.sums + place, rows.columns(j, std::min(kPanelLines, part.n - j)));
            }
        }
    }
}

template <class T>
void multiply_part(const Part<T>& part) {
    auto& space = *static_cast<Space*>(packing_space<sizeof(Space)>());
    static constexpr TileConfig kConfig;
    _tile_loadconfig(&kConfig);
    const int64_t row_block = part.k > kDepthBlock ? kRowBlock : part.m;
    for (int64_t j = 0; j < part.n; j += kColumnBlock) {
        const Part<T> columns = part.columns(j, std::min(kColumnBlock, part.n - j));
        for (int64_t i = 0; i < part.m; i += row_block) {
            multiply_block(columns.rows(i, std::min(row_block, part.m - i)), space);
        }
    }
    _tile_release();
}

/// Asks the system, which must save the tiles when it interrupts a thread.
bool may_use_tiles() {
    constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM and the state's number
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

}  // namespace diopi::cpu
HWY_POP_ATTRIBUTES
#endif

namespace diopi::cpu {

#if defined(__x86_64__)
bool has_amx_products() {
    static const bool has = onednn::has_amx() && may_use_tiles();
    return has;
}

template <class T>
void amx_product(int64_t m, int64_t n, int64_t k, MatrixView<Bfloat16> a, MatrixView<Bfloat16> b, const T* bias, T* c,
                 const ScaledSum<T>& sum) {
    const Part<T> whole{a, b, bias, c, n, m, n, k, sum};
    // Each thread takes whole panels of the longer side, so that every sum is the same for any number of threads.
    const bool by_rows = m >= n;
    const int64_t length = by_rows ? m : n, panels = (length + kPanelLines - 1) / kPanelLines;
    parallel_for(panels, kPanelLines * (by_rows ? n : m) * k / kAmxProductsPerWork, [&](int64_t first, int64_t last) {
        const int64_t begin = first * kPanelLines, count = std::min(last * kPanelLines, length) - begin;
        multiply_part(by_rows ? whole.rows(begin, count) : whole.columns(begin, count));
    });
}
#else
bool has_amx_products() { return false; }

template <class T>
void amx_product(int64_t, int64_t, int64_t, MatrixView<Bfloat16>, MatrixView<Bfloat16>, const T*, T*,
                 const ScaledSum<T>&) {}
#endif

template void amx_product(int64_t m, int64_t n, int64_t k, MatrixView<Bfloat16> a, MatrixView<Bfloat16> b,
                          const float* bias, float* c, const ScaledSum<float>& sum);
template void amx_product(int64_t m, int64_t n, int64_t k, MatrixView<Bfloat16> a, MatrixView<Bfloat16> b,
                          const Bfloat16* bias, Bfloat16* c, const ScaledSum<Bfloat16>& sum);

}  // namespace diopi::cpu
