// Keys and values in a cache, and attention to them: properties of the cpu kernels, and what they refuse.
#include <algorithm>
#include <numeric>

#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

constexpr int64_t kBlockSize = 4;

/// A paged cache of one key head for two query heads, and two sequences of 9 and 3 tokens with their queries.
struct Pages {
    Dtype dtype;
    TensorPtr q, k, v, table, mask;
    IntList lengths = {9, 3};

    explicit Pages(Dtype wanted)
        : dtype(wanted),
          q(random({2, 10}, dtype, 1)),
          k(random({24, 5}, dtype, 2)),
          v(random({24, 5}, dtype, 3)),
          table(tensor({2, 3}, Dtype::int32, {4, 0, 2, 5, -1, -1})) {}

    [[nodiscard]] TensorPtr attend() const {
        diopiContext ctx(cpu_device());
        const TensorPtr out = unwritten({2, 10}, dtype);
        INFO(last_error());
        REQUIRE(cpu::diopiPagedAttention(&ctx, out.get(), q.get(), k.get(), v.get(), mask.get(), list(lengths), 2, 1, 5,
                                         table.get(), kBlockSize) == diopiSuccess);
        return out;
    }
};

/// softmax(q k^T / sqrt(d)) v of the rows that are given.
Values attended_row(const Values& q, const Values& k, const Values& v, const std::vector<int64_t>& rows, int64_t d) {
    Values powers, out(static_cast<size_t>(d), 0);
    double total = 0;
    for (const int64_t row : rows) {
        double score = 0;
        for (int64_t c = 0; c < d; ++c) score += q[static_cast<size_t>(c)] * k[static_cast<size_t>(row * d + c)];
        powers.push_back(std::exp(score / std::sqrt(static_cast<double>(d))));
        total += powers.back();
    }
    for (size_t j = 0; j < rows.size(); ++j) {
        for (int64_t c = 0; c < d; ++c) {
            out[static_cast<size_t>(c)] += powers[j] / total * v[static_cast<size_t>(rows[j] * d + c)];
        }
    }
    return out;
}

}  // namespace

TEST_CASE("paged attention is softmax(q k) v over the tokens that the table names, for each query head of a key head") {
    for (const Dtype dtype : kFloats) {
        const Pages pages(dtype);
        const std::vector<int64_t> first = {16, 17, 18, 19, 0, 1, 2, 3, 8}, second = {20, 21, 22};
        Values wanted;
        for (int64_t row = 0; row < 4; ++row) {
            const Values q = values(*pages.q), one(q.begin() + row * 5, q.begin() + row * 5 + 5);
            const Values out = attended_row(one, values(*pages.k), values(*pages.v), row < 2 ? first : second, 5);
            wanted.insert(wanted.end(), out.begin(), out.end());
        }
        check_close(*pages.attend(), wanted);
    }
}

TEST_CASE("a permuted page table with permuted pages gives the same bits") {
    Pages pages(Dtype::float16);
    const Values before = values(*pages.attend());
    const std::vector<size_t> moved_to = {3, 1, 5, 2, 0, 4};
    for (TensorPtr* cache : {&pages.k, &pages.v}) {
        const Values old = values(**cache);
        Values moved(old.size());
        for (size_t page = 0; page < moved_to.size(); ++page) {
            std::copy_n(old.begin() + static_cast<int64_t>(page * 20), 20,
                        moved.begin() + static_cast<int64_t>(moved_to[page] * 20));
        }
        *cache = tensor({24, 5}, pages.dtype, moved);
    }
    pages.table = tensor({2, 3}, Dtype::int64, {0, 3, 5, 4, -1, -1});
    CHECK(values(*pages.attend()) == before);
}

TEST_CASE("the weights of paged attention sum to one, and to nothing where no token is seen") {
    Pages pages(Dtype::float32);
    pages.v = tensor({24, 5}, Dtype::float32, Values(120, 1));
    check_close(*pages.attend(), Values(20, 1));
    Values hidden(18, 0);
    std::fill(hidden.begin() + 9, hidden.end(), 1);
    pages.mask = tensor({2, 9}, Dtype::boolean, hidden);
    Values wanted(20, 1);
    std::fill(wanted.begin() + 10, wanted.end(), 0);
    check_close(*pages.attend(), wanted);
    pages.lengths = {9, 0};
    pages.mask = nullptr;
    check_close(*pages.attend(), wanted);
}

TEST_CASE("a hidden token has no influence, not even with NaN as its value") {
    Pages pages(Dtype::float32);
    Values hidden(18, 0), v = values(*pages.v), k = values(*pages.k);
    hidden[1] = 1;  // token 1 of the first sequence lies in slot 17
    pages.mask = tensor({2, 9}, Dtype::boolean, hidden);
    const Values before = values(*pages.attend());
    std::fill_n(v.begin() + 85, 5, kNan);
    std::fill_n(k.begin() + 85, 5, kNan);
    pages.v = tensor({24, 5}, Dtype::float32, v);
    pages.k = tensor({24, 5}, Dtype::float32, k);
    CHECK(values(*pages.attend()) == before);
}

TEST_CASE("large scores of later blocks do not overflow, and leave earlier tokens without weight") {
    diopiContext ctx(cpu_device());
    const int64_t n = 200;
    Values scores(n), v(n);
    for (int64_t j = 0; j < n; ++j) {
        scores[static_cast<size_t>(j)] = static_cast<double>(j) * 10;
        v[static_cast<size_t>(j)] = j == n - 1 ? 3 : 1000;
    }
    IntList slots(n);
    std::iota(slots.begin(), slots.end(), int64_t{0});
    const auto out = unwritten({1, 1, 1}, Dtype::float32);
    const auto logics = tensor({1, n}, Dtype::float32, scores), cache = tensor({n, 1, 1}, Dtype::float32, v);
    const auto table = tensor({1, n}, Dtype::int32, Values(slots.begin(), slots.end()));
    const auto start = tensor({1}, Dtype::int32, {0}), length = tensor({1}, Dtype::int32, {static_cast<double>(n)});
    REQUIRE(cpu::diopiTokenSoftmaxReduceVInference(&ctx, out.get(), logics.get(), cache.get(), table.get(), start.get(),
                                                   length.get(), static_cast<int>(n), 0) == diopiSuccess);
    check_close(*out, {3 + 997 * std::exp(-10.0)}, 64, 1000);
}

TEST_CASE("paged attention refuses pages and lengths that do not exist, and reads none behind a sequence") {
    diopiContext ctx(cpu_device());
    Pages pages(Dtype::float32);
    const auto out = unwritten({2, 10}, Dtype::float32);
    const auto attend = [&](const TensorPtr& table, const IntList& lengths) {
        return cpu::diopiPagedAttention(&ctx, out.get(), pages.q.get(), pages.k.get(), pages.v.get(), nullptr,
                                        list(lengths), 2, 1, 5, table.get(), kBlockSize);
    };
    const auto hole = tensor({2, 3}, Dtype::int32, {4, -1, 2, 5, 0, 0});
    CHECK(attend(hole, {9, 3}) == diopiErrorOccurred);
    CHECK(last_error() == "diopiPagedAttention: block_table holds -1 for token 4, which is not among the 24 slots");
    CHECK(attend(hole, {4, 3}) == diopiSuccess);
    CHECK(attend(tensor({2, 3}, Dtype::int32, {6, 0, 0, 0, 0, 0}), {1, 1}) == diopiErrorOccurred);
    CHECK(attend(pages.table, {13, 3}) == diopiErrorOccurred);
    CHECK(last_error() == "diopiPagedAttention: actual_seq_lengths holds 13, wanted 0 to the tokens of 3 blocks of 4");
    CHECK(attend(pages.table, {9, -1}) == diopiErrorOccurred);
    CHECK(attend(pages.q, {9, 3}) == diopiDtypeNotSupported);
}

namespace {

/// Two sequences of 3 and 2 tokens in a cache of 8 slots, with two heads of 3 numbers.
struct TokenCache {
    TensorPtr q, k, v, table, starts, lengths;
    int longest = 3;

    explicit TokenCache(Dtype dtype)
        : q(random({2, 2, 3}, dtype, 4)),
          k(random({8, 2, 3}, dtype, 5)),
          v(random({8, 2, 3}, dtype, 6)),
          table(tensor({2, 4}, Dtype::int32, {7, 0, 2, -1, -1, 5, 1, -1})),
          starts(tensor({2}, Dtype::int32, {0, 3})),
          lengths(tensor({2}, Dtype::int32, {3, 2})) {}

    [[nodiscard]] diopiError_t score(const TensorPtr& out) const {
        diopiContext ctx(cpu_device());
        return cpu::diopiTokenAttentionInference(&ctx, out.get(), q.get(), k.get(), table.get(), starts.get(),
                                                 lengths.get(), longest);
    }
    [[nodiscard]] diopiError_t reduce(const TensorPtr& out, const TensorPtr& scores, int other) const {
        diopiContext ctx(cpu_device());
        return cpu::diopiTokenSoftmaxReduceVInference(&ctx, out.get(), scores.get(), v.get(), table.get(), starts.get(),
                                                      lengths.get(), longest, other);
    }
};

}  // namespace

TEST_CASE("token_attention followed by token_softmax_reducev is attention") {
    for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
        const TokenCache cache(dtype);
        const auto scores = unwritten({2, 5}, dtype), out = unwritten({2, 2, 3}, dtype);
        REQUIRE(cache.score(scores) == diopiSuccess);
        REQUIRE(cache.reduce(out, scores, 6) == diopiSuccess);
        Values wanted;
        const Values q = values(*cache.q), k = values(*cache.k), v = values(*cache.v);
        for (int64_t row = 0; row < 4; ++row) {
            const std::vector<int64_t> slots = row < 2 ? std::vector<int64_t>{7, 0, 2} : std::vector<int64_t>{5, 1};
            std::vector<int64_t> rows;  // of a cache with one head
            for (const int64_t slot : slots) rows.push_back(slot * 2 + row % 2);
            const Values one(q.begin() + row * 3, q.begin() + row * 3 + 3), part = attended_row(one, k, v, rows, 3);
            wanted.insert(wanted.end(), part.begin(), part.end());
        }
        check_close(*out, wanted);
        const auto other = unwritten({2, 2, 3}, dtype);
        REQUIRE(cache.reduce(other, scores, 0) == diopiSuccess);
        CHECK(values(*other) == values(*out));
    }
}

TEST_CASE("token_attention writes 0 to the columns of no sequence, and refuses sequences that overlap") {
    TokenCache cache(Dtype::float32);
    const auto scores = unwritten({2, 7}, Dtype::float32);
    cache.starts = tensor({2}, Dtype::int32, {4, 0});
    REQUIRE(cache.score(scores) == diopiSuccess);
    const Values came = values(*scores);
    for (const size_t gap : {2, 3, 9, 10}) CHECK(came[gap] == 0);
    CHECK(std::ranges::count(came, 0) == 4);
    cache.starts = tensor({2}, Dtype::int32, {0, 2});
    CHECK(cache.score(scores) == diopiErrorOccurred);
    CHECK(last_error() == "diopiTokenAttentionInference: sequences 0 and 1 overlap");
    cache.starts = tensor({2}, Dtype::int32, {0, 6});
    CHECK(cache.score(scores) == diopiErrorOccurred);
    cache = TokenCache(Dtype::float32);
    cache.longest = 2;
    CHECK(cache.score(scores) == diopiErrorOccurred);
    cache = TokenCache(Dtype::float32);
    cache.table = tensor({2, 4}, Dtype::int32, {7, 8, 2, -1, -1, 5, 1, -1});
    CHECK(cache.score(scores) == diopiErrorOccurred);
    CHECK(last_error() == "diopiTokenAttentionInference: b_loc holds 8 for token 1, which is not among the 8 slots");
}

TEST_CASE("destindex_copy_kv writes the rows that are named and no others, and refuses bad slots before it writes") {
    diopiContext ctx(cpu_device());
    for (const Shape& strides : {Shape{}, Shape{1, 5, 10}}) {
        const auto out = tensor({5, 2, 1}, Dtype::float16, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, strides);
        const auto k = tensor({2, 2, 1}, Dtype::float16, {10, 11, 12, 13});
        const auto copy = [&](const Values& slots) {
            return cpu::diopiDestIndexCopyKV(&ctx, out.get(), k.get(), tensor({2}, Dtype::int32, slots).get());
        };
        CHECK(copy({1, 5}) == diopiErrorOccurred);
        CHECK(last_error() == "diopiDestIndexCopyKV: dest_loc holds 5, wanted 0 to 4");
        CHECK(copy({3, 3}) == diopiErrorOccurred);
        CHECK(last_error() == "diopiDestIndexCopyKV: dest_loc names 3 twice");
        CHECK(values(*out) == Values{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
        REQUIRE(copy({3, 0}) == diopiSuccess);
        CHECK(values(*out) == Values{12, 13, 2, 3, 4, 5, 10, 11, 8, 9});
    }
}
