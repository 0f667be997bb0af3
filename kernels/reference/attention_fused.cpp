/// Whole attention layers, with their projections and caches.
#include <algorithm>
#include <cmath>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/attention_products.hpp"
#include "kernels/reference/attention_rows.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// The heads and numbers of a layer.
struct LayerSizes {
    int64_t id, heads, key_heads, dim, room, rotated;
    double theta;

    [[nodiscard]] int64_t width() const { return heads * dim; }
    [[nodiscard]] int64_t columns() const { return (heads + 2 * key_heads) * dim; }
};

/// A new token: its row of inoutput, its sequence, its position in the caches and the one by which it is rotated, and
/// the first position of the call's new tokens.
struct NewToken {
    int64_t row, sequence, place, turn, first_new;
};

void require_sizes(const LayerSizes& a) {
    constexpr int64_t kMost = 1 << 30;  // of which products do not overflow
    if (a.heads < 1 || a.key_heads < 1 || a.dim < 1 || a.heads > kMost || a.dim > kMost || a.heads % a.key_heads != 0) {
        refuse("local_head_num is " + std::to_string(a.heads) + ", local_kv_head_num " + std::to_string(a.key_heads) +
               " and size_per_head " + std::to_string(a.dim) +
               ", wanted positive numbers, the first a multiple of the second");
    }
    if (a.rotated < 0 || a.rotated > a.dim || a.rotated % 2 != 0) {
        refuse("rotary_embedding is " + std::to_string(a.rotated) + ", wanted an even number, 0 to size_per_head " +
               std::to_string(a.dim));
    }
    if (!(a.theta > 0)) refuse("rope_theta is " + std::to_string(a.theta) + ", wanted a number over 0");
}

/// The number of sequences in caches that fit the layer.
int64_t require_batch(const LayerSizes& a, diopiConstTensorHandle_t key_cache, diopiConstTensorHandle_t value_cache) {
    const ShapeView keys = view_of(key_cache).shape;
    if (keys.size() != 5 || a.id < 0 || a.id >= keys[0]) {
        refuse("key_cache has shape " + to_string(keys) + ", wanted 5 dims, with layer " + std::to_string(a.id));
    }
    require_shape("key_cache", keys, Shape{keys[0], keys[1], a.key_heads, a.room, a.dim});
    require_shape("value_cache", view_of(value_cache).shape, keys);
    return keys[1];
}

/// cos or sin of an angle: a power, which the OpenCL C specification allows 16 ulp, times a position.
template <class T>
T of_angle(double value, double angle) {
    if constexpr (std::is_same_v<T, Inexact>) {
        const double error = 33 * working_format.roundoff * std::fabs(angle);
        return Inexact::rounded(value, std::min(error, 2.0), 8);
    }
    return value;
}

/// (a, b) becomes (a cos - b sin, a sin + b cos) for each pair of neighbours among the first numbers of a head.
template <class T>
void rotate(const LayerSizes& a, int64_t position, T* head) {
    for (int64_t i = 0; i < a.rotated; i += 2) {
        const double speed = std::pow(a.theta, -static_cast<double>(i) / static_cast<double>(a.rotated));
        const double angle = static_cast<double>(position) * speed;
        const T cos = of_angle<T>(std::cos(angle), angle), sin = of_angle<T>(std::sin(angle), angle);
        const T x = head[i], y = head[i + 1];
        head[i] = x * cos - y * sin;
        head[i + 1] = x * sin + y * cos;
    }
}

/// q, k and v of all rows: (tokens, (heads + 2 key_heads) * dim).
template <class T>
std::vector<T> project(const LayerSizes& a, int64_t tokens, Output<T>& x, diopiConstTensorHandle_t qkv_weight,
                       diopiConstTensorHandle_t qkv_bias) {
    const Operand<T> weight(qkv_weight, "qkv_weight"), bias(qkv_bias, "qkv_bias?");
    require_shape("inoutput", x.shape(), Shape{tokens, a.width()});
    require_shape("qkv_weight", weight.shape(), Shape{a.width(), a.columns()});
    const bool is_row = bias && bias.rank() == 2 && bias.size(0) == 1 && bias.size(1) == a.columns();
    if (bias && !is_row) require_shape("qkv_bias", bias.shape(), Shape{a.columns()});
    std::vector<T> qkv(static_cast<size_t>(tokens * a.columns()), T(0));
    add_product(tokens, a.columns(), a.width(), x.data(), false, {weight.data(), a.columns()}, qkv.data());
    for (size_t i = 0; bias && i < qkv.size(); ++i) qkv[i] += bias[static_cast<int64_t>(i) % a.columns()];
    return qkv;
}

/// The tensors that a layer changes.
template <class T>
struct Changed {
    Output<T> x, keys, values;

    Changed(diopiTensorHandle_t inoutput, diopiTensorHandle_t key_cache, diopiTensorHandle_t value_cache)
        : x(inoutput, "inoutput", Output<T>::Start::kOldValues),
          keys(key_cache, "key_cache", Output<T>::Start::kOldValues),
          values(value_cache, "value_cache", Output<T>::Start::kOldValues) {}
};

/// The rows of a cache's head; those from `first_new` on are rounded in the caches.
template <class T>
std::vector<T> rows_of(const T* head, int64_t count, int64_t first_new, int64_t dim) {
    std::vector<T> rows(head, head + count * dim);
    std::transform(rows.begin() + first_new * dim, rows.end(), rows.begin() + first_new * dim,
                   [](const T& number) { return maybe_kept(number); });
    return rows;
}

/// inoutput = softmax(q k^T / sqrt(dim)) v of one token over its sequence up to it.
template <class T>
void attend_token(const LayerSizes& a, int64_t batch, const NewToken& token, T* q, Changed<T>& changed) {
    const T scale = attention_scale<T>(a.dim);
    const int64_t count = token.place + 1, group = a.heads / a.key_heads;
    for (int64_t h = 0; h < a.key_heads; ++h) {
        const int64_t at = ((a.id * batch + token.sequence) * a.key_heads + h) * a.room * a.dim;
        const auto keys = rows_of(changed.keys.data() + at, count, token.first_new, a.dim);
        const auto values = rows_of(changed.values.data() + at, count, token.first_new, a.dim);
        for (int64_t n = h * group; n < (h + 1) * group; ++n) {
            T* query = q + n * a.dim;
            for (int64_t i = 0; i < a.dim; ++i) query[i] = maybe_kept(query[i]);
            std::vector<T> scores;
            for (int64_t j = 0; j < count; ++j) {
                scores.push_back(attention_score<T>(query, keys.data() + j * a.dim, a.dim, scale));
            }
            average_values(
                scores, [&](int64_t j) { return values.data() + j * a.dim; }, a.dim,
                changed.x.data() + token.row * a.width() + n * a.dim);
        }
    }
}

/// One layer: all new keys and values are stored before any token attends.
template <class T>
void run_layer(const LayerSizes& a, int64_t batch, const std::vector<NewToken>& tokens, std::vector<T> qkv,
               Changed<T>& changed) {
    for (const NewToken& token : tokens) {
        T* row = qkv.data() + token.row * a.columns();
        for (int64_t h = 0; h < a.heads + a.key_heads; ++h) rotate(a, token.turn, row + h * a.dim);
        for (int64_t h = 0; h < a.key_heads; ++h) {
            const int64_t head = (a.id * batch + token.sequence) * a.key_heads + h;
            const int64_t to = (head * a.room + token.place) * a.dim;
            std::copy_n(row + (a.heads + h) * a.dim, a.dim, changed.keys.data() + to);
            std::copy_n(row + (a.heads + a.key_heads + h) * a.dim, a.dim, changed.values.data() + to);
        }
    }
    for (const NewToken& token : tokens) {
        attend_token(a, batch, token, qkv.data() + token.row * a.columns(), changed);
    }
    changed.x.store();
    changed.keys.store();
    changed.values.store();
}

/// The new tokens of all sequences behind max_kv_len - queries others. It needs no scratch memory.
diopiError_t prompt_layer(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t inoutput,
                          diopiConstTensorHandle_t qkv_weight, diopiConstTensorHandle_t qkv_bias, diopiTensorHandle_t,
                          int64_t* pre_work_size, bool, diopiTensorHandle_t, int64_t* workspace_size, int64_t,
                          diopiTensorHandle_t key_cache, diopiTensorHandle_t value_cache, int64_t layer_id,
                          int64_t local_head_num, int64_t local_kv_head_num, int64_t size_per_head, int64_t max_seq_len,
                          int64_t max_q_len, int64_t max_kv_len, int64_t rotary_embedding, float rope_theta) {
    if (*pre_work_size < 0 || *workspace_size < 0) {
        *pre_work_size = *workspace_size = 0;
        return diopiSuccess;
    }
    return inexact_kernel(ctx, [&]<class T>(T) {
        const LayerSizes a{layer_id,
                           local_head_num,
                           local_kv_head_num,
                           size_per_head,
                           max_seq_len,
                           rotary_embedding,
                           static_cast<double>(rope_theta)};
        require_sizes(a);
        const int64_t batch = require_batch(a, key_cache, value_cache);
        if (max_q_len < 0 || max_q_len > max_kv_len || max_kv_len > max_seq_len) {
            refuse("max_q_len is " + std::to_string(max_q_len) + ", max_kv_len " + std::to_string(max_kv_len) +
                   " and max_seq_len " + std::to_string(max_seq_len) + ", wanted 0 or more, none above the next");
        }
        Changed<T> changed(inoutput, key_cache, value_cache);
        std::vector<NewToken> tokens;
        const int64_t stored = max_kv_len - max_q_len;
        for (int64_t row = 0; row < batch * max_q_len; ++row) {
            const int64_t place = stored + row % max_q_len;
            tokens.push_back({row, row / max_q_len, place, place, stored});
        }
        run_layer(a, batch, tokens, project(a, batch * max_q_len, changed.x, qkv_weight, qkv_bias), changed);
    });
}

/// One new token of each sequence that is not finished. It needs no scratch memory.
diopiError_t step_layer(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t inoutput,
                        diopiConstTensorHandle_t qkv_weight, diopiConstTensorHandle_t qkv_bias, diopiTensorHandle_t,
                        int64_t* workspace_size, int64_t, diopiTensorHandle_t key_cache,
                        diopiTensorHandle_t value_cache, diopiConstTensorHandle_t finished,
                        diopiConstTensorHandle_t total_padding_tokens, diopiConstTensorHandle_t sequence_lengths,
                        int64_t step, int64_t layer_id, int64_t local_head_num, int64_t local_kv_head_num,
                        int64_t size_per_head, int64_t max_seq_len, int64_t rotary_embedding, float rope_theta) {
    if (*workspace_size < 0) {
        *workspace_size = 0;
        return diopiSuccess;
    }
    return inexact_kernel(ctx, [&]<class T>(T) {
        const LayerSizes a{layer_id,
                           local_head_num,
                           local_kv_head_num,
                           size_per_head,
                           max_seq_len,
                           rotary_embedding,
                           static_cast<double>(rope_theta)};
        require_sizes(a);
        const int64_t batch = require_batch(a, key_cache, value_cache);
        const Operand<int64_t> lengths = attention_numbers(sequence_lengths, "sequence_lengths");
        require_shape("sequence_lengths", lengths.shape(), Shape{batch});
        require_mask("finished", finished);
        const Operand<int64_t> ended(finished, "finished?"), padding(total_padding_tokens, "total_padding_tokens?");
        if (ended) require_shape("finished", ended.shape(), Shape{batch});
        if (padding) require_shape("total_padding_tokens", padding.shape(), Shape{batch});
        Changed<T> changed(inoutput, key_cache, value_cache);
        std::vector<NewToken> tokens;
        for (int64_t b = 0; b < batch; ++b) {
            if (ended && ended[b] != 0) continue;
            const int64_t length = lengths[b];
            if (length < 0 || length >= step || length >= max_seq_len) {
                refuse("sequence_lengths holds " + std::to_string(length) + ", wanted one below step " +
                       std::to_string(step) + " and max_seq_len " + std::to_string(max_seq_len));
            }
            tokens.push_back({b, b, length, step - 1 - (padding ? padding[b] : 0), length});
        }
        run_layer(a, batch, tokens, project(a, batch, changed.x, qkv_weight, qkv_bias), changed);
    });
}

}  // namespace

#include "kernels/entries/attention_fused.inc"

}  // namespace diopi::reference
