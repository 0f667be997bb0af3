// Whole attention layers: properties of the cpu kernels, and what they refuse.
#include <algorithm>

#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

/// A layer of four query heads and its caches, which have a second layer before it.
struct FusedLayer {
    int64_t batch = 2, heads = 4, key_heads = 2, dim = 6, room = 90, rotated = 4;
    float theta = 100;
    Dtype dtype;
    TensorPtr weight, bias, keys, values;

    explicit FusedLayer(Dtype wanted, int64_t shared = 2)
        : key_heads(shared),
          dtype(wanted),
          weight(small({width(), columns()}, 1)),
          bias(small({columns()}, 2)),
          keys(small({2, batch, key_heads, room, dim}, 3)),
          values(small({2, batch, key_heads, room, dim}, 4)) {}

    [[nodiscard]] int64_t width() const { return heads * dim; }
    [[nodiscard]] int64_t columns() const { return (heads + 2 * key_heads) * dim; }
    /// Numbers whose products are about one.
    [[nodiscard]] TensorPtr small(const Shape& shape, uint32_t seed) const {
        Values numbers = testing::values(*random(shape, dtype, seed));
        for (double& number : numbers) number /= 4;
        return tensor(shape, dtype, numbers);
    }
    [[nodiscard]] TensorPtr input(int64_t tokens, uint32_t seed = 5) const { return small({tokens, width()}, seed); }
    /// Each call works on caches of its own.
    [[nodiscard]] FusedLayer copied() const {
        FusedLayer copy = *this;
        copy.keys = tensor(keys->shape, dtype, testing::values(*keys));
        copy.values = tensor(values->shape, dtype, testing::values(*values));
        return copy;
    }

    diopiError_t run_prompt(const TensorPtr& x, int64_t queries, int64_t count, diopiTensorHandle_t workspace,
                            int64_t& pre_bytes, int64_t& bytes) const {
        diopiContext ctx(cpu_device());
        return cpu::diopiFusedContextAttentionInp(&ctx, x.get(), weight.get(), bias.get(), nullptr, &pre_bytes, false,
                                                  workspace, &bytes, 0, keys.get(), values.get(), 1, heads, key_heads,
                                                  dim, room, queries, count, rotated, theta);
    }
    /// The new tokens, `queries` of each sequence, of `count` in all.
    diopiError_t prompt(const TensorPtr& x, int64_t queries, int64_t count) const {
        int64_t pre_bytes = -1, bytes = -1;
        if (const auto error = run_prompt(x, queries, count, nullptr, pre_bytes, bytes); error != diopiSuccess) {
            return error;
        }
        const auto memory = unwritten({bytes}, Dtype::uint8);
        return run_prompt(x, queries, count, memory.get(), pre_bytes, bytes);
    }
    diopiError_t step(const TensorPtr& x, const TensorPtr& lengths, int64_t steps, const TensorPtr& finished = nullptr,
                      const TensorPtr& padding = nullptr) const {
        diopiContext ctx(cpu_device());
        int64_t bytes = -1;
        diopiError_t error = diopiSuccess;
        TensorPtr memory;
        while (error == diopiSuccess) {
            const bool asks = bytes < 0;
            error = cpu::diopiFusedDecoderAttentionInp(
                &ctx, x.get(), weight.get(), bias.get(), memory.get(), &bytes, 0, keys.get(), values.get(),
                finished.get(), padding.get(), lengths.get(), steps, 1, heads, key_heads, dim, room, rotated, theta);
            if (!asks || error != diopiSuccess) break;
            memory = unwritten({bytes}, Dtype::uint8);
        }
        return error;
    }
};

/// A new token by plain loops: its k and v go to the caches, and its result is returned.
Values layer_of_token(const FusedLayer& a, const Values& x, int64_t row, int64_t sequence, int64_t position,
                      Values& keys, Values& values) {
    const Values weight = testing::values(*a.weight), bias = testing::values(*a.bias);
    Values qkv = bias;
    for (int64_t c = 0; c < a.columns(); ++c) {
        for (int64_t i = 0; i < a.width(); ++i) {
            qkv[static_cast<size_t>(c)] +=
                x[static_cast<size_t>(row * a.width() + i)] * weight[static_cast<size_t>(i * a.columns() + c)];
        }
    }
    for (int64_t h = 0; h < a.heads + a.key_heads; ++h) {
        for (int64_t i = 0; i < a.rotated; i += 2) {
            const double power = -static_cast<double>(i) / static_cast<double>(a.rotated);
            const double angle = static_cast<double>(position) * std::pow(static_cast<double>(a.theta), power);
            double &first = qkv[static_cast<size_t>(h * a.dim + i)], &second = (&first)[1];
            const double old = first;
            first = old * std::cos(angle) - second * std::sin(angle);
            second = old * std::sin(angle) + second * std::cos(angle);
        }
    }
    Values out;
    for (int64_t h = 0; h < a.heads; ++h) {
        const int64_t shared = h / (a.heads / a.key_heads);
        const int64_t head = ((a.batch + sequence) * a.key_heads + shared) * a.room * a.dim;
        const auto at = [&](int64_t place, int64_t c) { return static_cast<size_t>(head + place * a.dim + c); };
        for (int64_t c = 0; c < a.dim; ++c) {
            keys[at(position, c)] = qkv[static_cast<size_t>((a.heads + shared) * a.dim + c)];
            values[at(position, c)] = qkv[static_cast<size_t>((a.heads + a.key_heads + shared) * a.dim + c)];
        }
        Values sums(static_cast<size_t>(a.dim), 0);
        double total = 0;
        for (int64_t place = 0; place <= position; ++place) {
            double score = 0;
            for (int64_t c = 0; c < a.dim; ++c) score += qkv[static_cast<size_t>(h * a.dim + c)] * keys[at(place, c)];
            const double power = std::exp(score / std::sqrt(static_cast<double>(a.dim)));
            total += power;
            for (int64_t c = 0; c < a.dim; ++c) sums[static_cast<size_t>(c)] += power * values[at(place, c)];
        }
        for (const double sum : sums) out.push_back(sum / total);
    }
    return out;
}

/// The roundings, of float32, that three roundings of numbers of size one to the dtype amount to.
double roundings_of(Dtype dtype) { return is_half(dtype) ? 3 * roundoff(dtype) * 0x1p22 : 256; }

TensorPtr whole_numbers(const Values& numbers) { return tensor({std::ssize(numbers)}, Dtype::int64, numbers); }

}  // namespace

TEST_CASE("the layer of a prompt is its formula by plain loops, with and without a history", "[vectors]") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const int64_t queries = GENERATE(1, 5, 70), history = GENERATE(0, 3);
    const FusedLayer layer(dtype);
    const auto x = layer.input(layer.batch * queries);
    const Values old = values(*x);
    Values keys = values(*layer.keys), kept = values(*layer.values), wanted;
    for (int64_t row = 0; row < layer.batch * queries; ++row) {
        const Values out = layer_of_token(layer, old, row, row / queries, history + row % queries, keys, kept);
        wanted.insert(wanted.end(), out.begin(), out.end());
    }
    REQUIRE(layer.prompt(x, queries, history + queries) == diopiSuccess);
    check_close(*x, wanted, roundings_of(dtype));
    check_close(*layer.keys, keys, 64);
    check_close(*layer.values, kept, 64);
}

TEST_CASE("a step behind a prompt gives the last token of a prompt of one token more", "[vectors]") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const int64_t known = GENERATE(0, 1, 66);
    const FusedLayer whole(dtype), parts = whole.copied();
    const auto all = whole.input(whole.batch * (known + 1));
    const Values all_numbers = values(*all);
    Values first, last;
    for (int64_t row = 0; row < whole.batch * (known + 1); ++row) {
        Values& part = row % (known + 1) < known ? first : last;
        const auto from = all_numbers.begin() + row * whole.width();
        part.insert(part.end(), from, from + whole.width());
    }
    const auto prompt = tensor({whole.batch * known, whole.width()}, dtype, first);
    const auto token = tensor({whole.batch, whole.width()}, dtype, last);
    REQUIRE(whole.prompt(all, known + 1, known + 1) == diopiSuccess);
    REQUIRE(parts.prompt(prompt, known, known) == diopiSuccess);
    const auto length = static_cast<double>(known);
    REQUIRE(parts.step(token, whole_numbers({length, length}), known + 1) == diopiSuccess);
    const Values results = values(*all);
    Values wanted;
    for (int64_t b = 0; b < whole.batch; ++b) {
        const auto from = results.begin() + ((b + 1) * (known + 1) - 1) * whole.width();
        wanted.insert(wanted.end(), from, from + whole.width());
    }
    check_close(*token, wanted, roundings_of(dtype));
    check_close(*parts.keys, values(*whole.keys), 64);
    check_close(*parts.values, values(*whole.values), 64);
}

TEST_CASE("later positions of the caches have no influence, and keep what they hold", "[vectors]") {
    const FusedLayer plain(Dtype::float32), poisoned = plain.copied();
    for (const TensorPtr& cache : {poisoned.keys, poisoned.values}) {
        for (int64_t i = 0; i < cache->numel(); ++i) {
            const int64_t place = i / plain.dim % plain.room;
            if (place > 9) cpu::testing::write(Dtype::float32, cache->data(), i, kNan);
        }
    }
    const auto x = plain.input(2), y = plain.input(2), prompt = plain.input(6), same_prompt = plain.input(6);
    REQUIRE(plain.step(x, whole_numbers({9, 4}), 10) == diopiSuccess);
    REQUIRE(poisoned.step(y, whole_numbers({9, 4}), 10) == diopiSuccess);
    CHECK(values(*y) == values(*x));
    REQUIRE(plain.prompt(prompt, 3, 10) == diopiSuccess);
    REQUIRE(poisoned.prompt(same_prompt, 3, 10) == diopiSuccess);
    CHECK(values(*same_prompt) == values(*prompt));
    const Values kept = values(*poisoned.keys);
    CHECK(std::ranges::count_if(kept, [](double v) { return std::isnan(v); }) == 2 * 2 * 2 * 80 * 6);
}

TEST_CASE("a finished sequence keeps its row and its caches, whatever its length", "[vectors]") {
    const FusedLayer layer(Dtype::float32), other = layer.copied();
    const Values old = values(*layer.keys);
    const auto x = layer.input(2), y = layer.input(2);
    const Values before = values(*x);
    REQUIRE(layer.step(x, whole_numbers({-5, 3}), 4, tensor({2}, Dtype::boolean, {1, 0})) == diopiSuccess);
    REQUIRE(other.step(y, whole_numbers({2, 3}), 4) == diopiSuccess);
    const Values after = values(*x), both = values(*y);
    CHECK(std::equal(after.begin(), after.begin() + layer.width(), before.begin()));
    CHECK(std::equal(after.begin() + layer.width(), after.end(), both.begin() + layer.width()));
    const Values keys = values(*layer.keys), all_keys = values(*other.keys);
    const int64_t sequence = layer.key_heads * layer.room * layer.dim;
    CHECK(std::equal(keys.begin(), keys.begin() + 3 * sequence, old.begin()));
    CHECK(std::equal(keys.begin() + 3 * sequence, keys.end(), all_keys.begin() + 3 * sequence));
    REQUIRE(layer.step(x, whole_numbers({3, 3}), 4, tensor({2}, Dtype::boolean, {1, 1})) == diopiSuccess);
    CHECK(values(*x) == after);
}

TEST_CASE("padding moves the position of the rotation, not that in the caches", "[vectors]") {
    const FusedLayer plain(Dtype::float64), padded = plain.copied(), early = plain.copied(), late = plain.copied();
    const auto x = plain.input(2), y = plain.input(2);
    REQUIRE(plain.step(x, whole_numbers({3, 3}), 4) == diopiSuccess);
    REQUIRE(padded.step(y, whole_numbers({3, 3}), 11, nullptr, whole_numbers({7, 7})) == diopiSuccess);
    CHECK(values(*x) == values(*y));
    CHECK(values(*plain.keys) == values(*padded.keys));
    // Without padding both are rotated as token 10.
    REQUIRE(early.step(plain.input(2), whole_numbers({3, 3}), 11) == diopiSuccess);
    REQUIRE(late.step(plain.input(2), whole_numbers({10, 10}), 11) == diopiSuccess);
    const Values early_keys = values(*early.keys), late_keys = values(*late.keys);
    for (int64_t head = plain.batch * plain.key_heads; head < 2 * plain.batch * plain.key_heads; ++head) {
        const auto row = [&](const Values& keys, int64_t place) {
            const auto first = keys.begin() + (head * plain.room + place) * plain.dim;
            return Values(first, first + plain.dim);
        };
        CHECK(row(early_keys, 3) == row(late_keys, 10));
    }
}

TEST_CASE("heads of a group share a key head: the result is that of repeated keys", "[vectors]") {
    const FusedLayer grouped(Dtype::float64);
    FusedLayer repeated(Dtype::float64, 4);
    // The heads of q, then each head of k and of v twice.
    const auto repeat = [&](const TensorPtr& from, int64_t rows) {
        const Values numbers = values(*from);
        Values twice;
        for (int64_t row = 0; row < rows; ++row) {
            for (int64_t head = 0; head < 12; ++head) {
                const int64_t source = head < 4 ? head : 4 + (head - 4) / 2;
                const auto first = numbers.begin() + row * grouped.columns() + source * grouped.dim;
                twice.insert(twice.end(), first, first + grouped.dim);
            }
        }
        return twice;
    };
    repeated.weight = tensor({24, 72}, Dtype::float64, repeat(grouped.weight, 24));
    repeated.bias = tensor({1, 72}, Dtype::float64, repeat(grouped.bias, 1));
    const auto x = grouped.input(2 * 40), y = grouped.input(2 * 40);
    REQUIRE(grouped.prompt(x, 40, 40) == diopiSuccess);
    REQUIRE(repeated.prompt(y, 40, 40) == diopiSuccess);
    check_close(*y, values(*x));
}

TEST_CASE("an attention layer tells the sizes of its memory, and runs in memory at any address", "[vectors]") {
    const FusedLayer layer(Dtype::float32), other = layer.copied();
    const auto x = layer.input(10), y = layer.input(10);
    const Values before = values(*x);
    for (const bool asks_for_both : {false, true}) {
        int64_t pre_bytes = asks_for_both ? -1 : 0, bytes = -1;
        REQUIRE(layer.run_prompt(x, 5, 5, nullptr, pre_bytes, bytes) == diopiSuccess);
        CHECK(pre_bytes == 0);
        CHECK(bytes >= 10 * 48 * 4);
        CHECK(values(*x) == before);
    }
    int64_t pre_bytes = 0, bytes = 10 * 48 * 4 + 64;
    const auto memory = unwritten({bytes + 1}, Dtype::uint8);
    const auto unaligned = cpu::testing::alias(memory, {bytes}, {1}, 1);
    REQUIRE(layer.run_prompt(x, 5, 5, unaligned.get(), pre_bytes, bytes) == diopiSuccess);
    REQUIRE(other.prompt(y, 5, 5) == diopiSuccess);
    CHECK(values(*x) == values(*y));
    CHECK(layer.run_prompt(x, 5, 5, nullptr, pre_bytes, bytes) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("workspace has 0 bytes in a row, wanted"));
    CHECK(layer.prompt(layer.input(0), 0, 7) == diopiSuccess);
}

TEST_CASE("an attention layer refuses what does not fit", "[vectors]") {
    const FusedLayer layer(Dtype::float32);
    const auto x = layer.input(2), lengths = whole_numbers({3, 3});
    const auto refuses = [&](FusedLayer wrong, const char* message) {
        CHECK(wrong.step(x, lengths, 4) == diopiErrorOccurred);
        CHECK_THAT(last_error(), Catch::Contains(message));
        CHECK(wrong.prompt(x, 1, 4) == diopiErrorOccurred);
        CHECK_THAT(last_error(), Catch::Contains(message));
    };
    FusedLayer wrong = layer;
    wrong.key_heads = 3;
    refuses(wrong, "local_head_num is 4, local_kv_head_num 3 and size_per_head 6");
    wrong = layer;
    wrong.rotated = 3;
    refuses(wrong, "rotary_embedding is 3, wanted an even number, 0 to size_per_head 6");
    wrong.rotated = 8;
    refuses(wrong, "rotary_embedding is 8");
    wrong = layer;
    wrong.theta = 0;
    refuses(wrong, "rope_theta is 0.000000, wanted a number over 0");
    wrong = layer;
    wrong.room = 89;
    refuses(wrong, "key_cache has shape (2, 2, 2, 90, 6), wanted (2, 2, 2, 89, 6)");
    wrong = layer;
    wrong.values = layer.weight;
    refuses(wrong, "value_cache has shape");
    wrong = layer;
    wrong.weight = layer.bias;
    refuses(wrong, "qkv_weight has shape (48,), wanted (24, 48)");
    wrong = layer;
    wrong.bias = layer.small({2, 24}, 1);
    refuses(wrong, "qkv_bias has shape (2, 24), wanted (48,)");
    CHECK(layer.prompt(x, 2, 4) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("inoutput has shape (2, 24), wanted (4, 24)"));
    CHECK(layer.prompt(x, 1, 0) == diopiErrorOccurred);
    CHECK(layer.prompt(x, 1, 91) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("max_q_len is 1, max_kv_len 91 and max_seq_len 90"));
    CHECK(layer.step(x, whole_numbers({3, 4}), 4) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("sequence_lengths holds 4, wanted 0 to 3, below step and max_seq_len"));
    CHECK(layer.step(x, whole_numbers({-1, 3}), 4) == diopiErrorOccurred);
    CHECK(layer.step(x, whole_numbers({90, 3}), 100) == diopiErrorOccurred);
    CHECK(layer.step(x, whole_numbers({3}), 4) == diopiErrorOccurred);
    CHECK(layer.step(x, lengths, 4, lengths) != diopiSuccess);
}
