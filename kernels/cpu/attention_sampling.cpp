/// Sampling: the arguments of each sequence, and its next token. Tokens are ranked only as far as the drawn one.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/random.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/attention_sampling.hpp"
#include "kernels/operands/workspace.hpp"

namespace diopi::cpu {

namespace {

/// Where the arguments of each sequence go.
struct Arguments {
    int64_t* k;
    double* p;
};

/// Finds k and p of each sequence, and which ones the other way of sampling draws for.
diopiError_t find_arguments(Staging& staging, const SamplingArguments& a, bool is_topk, Arguments& to) {
    const auto* ks = staging.in<int64_t>(a.top_ks);
    const auto* ps = staging.in<double>(a.top_ps);
    to = {staging.out<int64_t>(a.top_ks), staging.out<double>(a.top_ps)};
    auto* skips = staging.out<int64_t>(a.skip_decode);
    if (staging.error() != diopiSuccess) return staging.error();
    for (int64_t i = 0; i < a.batch; ++i) {
        int64_t k = std::clamp<int64_t>(a.top_ks_size > 1 ? ks[i] : a.top_k, 0, kMostSampledTokens);
        double p = a.top_ps_size > 1 ? ps[i] : static_cast<double>(a.top_p);
        if (p == 0 && k == 0) k = 1;
        if (p == 0 && k > 0) p = 1;
        to.k[i] = k;
        to.p[i] = std::clamp(p, 0.0, 1.0);
        skips[i] = (k == 0) == is_topk ? 1 : 0;
    }
    return diopiSuccess;
}

diopiError_t topk_arguments(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t top_ks,
                            diopiTensorHandle_t top_ps, diopiTensorHandle_t skip_decode, int64_t batch_size,
                            int64_t top_k, int64_t top_ks_size, float top_p, int64_t top_ps_size) {
    const SamplingArguments a{top_ks, top_ps, skip_decode, batch_size, top_k, top_ks_size, top_p, top_ps_size};
    if (const diopiError_t error = check_arguments(op, a); error != diopiSuccess) return error;
    Staging staging(ctx);
    Arguments to{};
    const diopiError_t error = find_arguments(staging, a, true, to);
    return error != diopiSuccess ? error : staging.finish();
}

/// A number of (0, 1], or another in the place of one that is not.
double valid_or(float number, double other) { return number > 0 && number <= 1 ? static_cast<double>(number) : other; }

diopiError_t topp_arguments(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t top_ks,
                            diopiTensorHandle_t top_ps, diopiTensorHandle_t skip_decode, int64_t batch_size,
                            int64_t top_k, int64_t top_ks_size, float top_p, int64_t top_ps_size,
                            diopiTensorHandle_t initial_top_p_buf, diopiTensorHandle_t top_p_decay_buf,
                            float top_p_decay, diopiTensorHandle_t top_p_min_buf, float top_p_min,
                            diopiTensorHandle_t top_p_reset_ids_buf, int64_t top_p_reset_ids) {
    const SamplingArguments a{top_ks, top_ps, skip_decode, batch_size, top_k, top_ks_size, top_p, top_ps_size};
    diopiError_t error = check_arguments(op, a);
    if (error == diopiSuccess) {
        error = check_buffers(op, batch_size, initial_top_p_buf, top_p_decay_buf, top_p_min_buf, top_p_reset_ids_buf);
    }
    if (error != diopiSuccess) return error;
    Staging staging(ctx);
    Arguments to{};
    error = find_arguments(staging, a, false, to);
    auto *initial = staging.out<double>(initial_top_p_buf), *decay = staging.out<double>(top_p_decay_buf);
    auto* least = staging.out<double>(top_p_min_buf);
    auto* reset_ids = staging.out<int64_t>(top_p_reset_ids_buf);
    if (staging.error() != diopiSuccess) return staging.error();
    std::copy_n(to.p, batch_size, initial);
    std::fill_n(decay, batch_size, valid_or(top_p_decay, 1));
    std::fill_n(least, batch_size, valid_or(top_p_min, 0.5));
    std::fill_n(reset_ids, batch_size, top_p_reset_ids);
    return staging.finish();
}

/// The tokens of one sequence in the order of their logits, of equal ones the first one first.
template <class T>
class Ranking {
 public:
    Ranking(const T* logits, int64_t vocab) : logits_(logits), order_(static_cast<size_t>(vocab)) {
        std::iota(order_.begin(), order_.end(), 0);
        rank(kFirst);
        largest_ = logit(order_[0]);
    }
    [[nodiscard]] int64_t token(int64_t position) {
        while (position >= ranked_) rank(8 * ranked_);
        return order_[static_cast<size_t>(position)];
    }
    /// exp(logit - largest), without a difference of two infinities.
    [[nodiscard]] double share(int64_t token) const {
        const T x = logit(token);
        return x == largest_ ? 1 : static_cast<double>(std::exp(x - largest_));
    }
    [[nodiscard]] double sum_of_shares() const {
        double sum = 0;
        for (int64_t t = 0; t < std::ssize(order_); ++t) sum += share(t);
        return sum;
    }

 private:
    static constexpr int64_t kFirst = 64;

    /// NaN counts as -inf.
    [[nodiscard]] T logit(int64_t token) const {
        const T x = logits_[token];
        return std::isnan(x) ? -std::numeric_limits<T>::infinity() : x;
    }
    void rank(int64_t count) {
        count = std::min<int64_t>(count, std::ssize(order_));
        std::partial_sort(order_.begin() + ranked_, order_.begin() + count, order_.end(),
                          [&](int64_t a, int64_t b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
        ranked_ = count;
    }

    const T* logits_;
    std::vector<int64_t> order_;
    int64_t ranked_ = 0;
    T largest_ = 0;
};

/// The tensors of the sequences: one element for each, null where absent.
struct Sequences {
    const int64_t *skips, *ends, *top_k;
    const double* top_p;
    const int64_t *was_finished, *old_lengths, *old_ids;
    const double *old_sums, *old_logs;
    int64_t *finished, *lengths, *ids;
    double *sums, *logs;

    Sequences(Staging& staging, const Sampling& a)
        : skips(staging.in<int64_t>(a.skip_decode)),
          ends(staging.in<int64_t>(a.end_ids)),
          top_k(staging.in<int64_t>(a.top_k)),
          top_p(staging.in<double>(a.top_p)),
          was_finished(staging.in<int64_t>(a.finished)),
          old_lengths(staging.in<int64_t>(a.sequence_lengths)),
          old_ids(staging.in<int64_t>(a.output_ids)),
          old_sums(staging.in<double>(a.cum_log_probs)),
          old_logs(staging.in<double>(a.output_log_probs)),
          finished(staging.out<int64_t>(a.finished)),
          lengths(staging.out<int64_t>(a.sequence_lengths)),
          ids(staging.out<int64_t>(a.output_ids)),
          sums(staging.out<double>(a.cum_log_probs)),
          logs(staging.out<double>(a.output_log_probs)) {}

    /// The state before the step, where what changes has memory of its own.
    void copy_state(int64_t batch, int64_t tokens) {
        const auto copy = [](const auto* from, int64_t count, auto* to) {
            if (from != nullptr && from != to) std::copy_n(from, count, to);
        };
        copy(was_finished, batch, finished);
        copy(old_lengths, batch, lengths);
        copy(old_sums, batch, sums);
        copy(old_logs, batch, logs);
        copy(old_ids, tokens, ids);
    }
    [[nodiscard]] bool is_skipped(int64_t i) const { return skips != nullptr && skips[i] != 0; }
    [[nodiscard]] bool is_finished(int64_t i) const { return finished != nullptr && finished[i] != 0; }
    [[nodiscard]] bool draws(int64_t i) const { return !is_skipped(i) && !is_finished(i); }
};

/// Refuses k and p that no token can be drawn by.
diopiError_t check_limits(std::string_view op, const Sequences& s, int64_t batch) {
    for (int64_t i = 0; i < batch; ++i) {
        if (!s.draws(i)) continue;
        if (s.top_k != nullptr && s.top_k[i] < 1) {
            return refuse(op, "runtime_top_k holds " + std::to_string(s.top_k[i]) + ", wanted 1 or more");
        }
        if (!(s.top_p[i] >= 0 && s.top_p[i] <= 1)) {
            return refuse(op, "runtime_top_p holds " + std::to_string(s.top_p[i]) + ", wanted 0 to 1");
        }
    }
    return diopiSuccess;
}

/// The first of the top k tokens whose cumulated probability exceeds u p.
template <class T>
void draw_token(const T* logits, double u, int64_t vocab, int64_t k, int64_t i, int64_t& token, Sequences& s) {
    Ranking<T> ranking(logits, vocab);
    const bool needs_all = k == vocab || s.sums != nullptr;
    const double all = needs_all ? ranking.sum_of_shares() : 0;
    double kept = k == vocab ? all : 0;
    for (int64_t n = 0; k < vocab && n < k; ++n) kept += ranking.share(ranking.token(n));
    const double bound = u * s.top_p[i] * kept;
    int64_t position = 0;
    double sum = ranking.share(ranking.token(0));
    while (!(sum > bound) && position + 1 < k) sum += ranking.share(ranking.token(++position));
    token = ranking.token(position);
    const double share = ranking.share(token);
    if (s.finished != nullptr && s.ends != nullptr && s.ends[i] == token) s.finished[i] = 1;
    if (s.lengths != nullptr) s.lengths[i] += 1;
    if (s.sums != nullptr) s.sums[i] += std::log(share / all);
    if (s.logs != nullptr) s.logs[i] = std::log(share / kept);
}

template <class T>
diopiError_t sample_rows(diopiContextHandle_t ctx, std::string_view op, const Sampling& a) {
    Staging staging(ctx);
    const auto* logits = staging.in<T>(a.logits);
    Sequences s(staging, a);
    if (staging.error() != diopiSuccess) return staging.error();
    s.copy_state(a.batch, view(a.output_ids).numel);
    if (const diopiError_t error = check_limits(op, s, a.batch); error != diopiSuccess) return error;
    std::vector<float> drawn(static_cast<size_t>(a.batch));
    for (int64_t i = 0; i < a.batch; ++i) {
        if (!s.draws(i)) continue;
        const Sequence sequence = Sequence::of(a.generators[i]);
        uniform_block(sequence.seed, sequence.offset, 0, std::span(&drawn[static_cast<size_t>(i)], 1));
        if (const diopiError_t error = sequence.advance(a.generators[i], 1); error != diopiSuccess) return error;
    }
    int64_t* row = s.ids + a.step * a.batch;
    parallel_for(a.batch, a.vocab, Loop::transcendental, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
            if (s.is_skipped(i)) continue;
            if (s.is_finished(i)) {
                if (s.ends != nullptr) row[i] = s.ends[i];
                if (s.logs != nullptr) s.logs[i] = 0;
                continue;
            }
            const int64_t k = s.top_k == nullptr ? a.vocab : std::min(s.top_k[i], a.vocab);
            draw_token(logits + i * a.vocab, static_cast<double>(drawn[static_cast<size_t>(i)]), a.vocab, k, i, row[i],
                       s);
        }
    });
    return staging.finish();
}

diopiError_t sample(diopiContextHandle_t ctx, std::string_view op, const Sampling& a) {
    if (const diopiError_t error = check_sampling(op, a); error != diopiSuccess) return error;
    return (view(a.logits).dtype == Dtype::float64 ? sample_rows<double> : sample_rows<float>)(ctx, op, a);
}

diopiError_t topk_sampling(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t output_ids,
                           diopiTensorHandle_t logits, diopiTensorHandle_t, int64_t* workspace_size, int64_t,
                           diopiConstTensorHandle_t end_ids, diopiTensorHandle_t finished,
                           diopiTensorHandle_t sequence_lengths, int64_t step, int64_t batch, int64_t vocab,
                           diopiConstTensorHandle_t top_k, diopiConstTensorHandle_t top_p,
                           diopiConstTensorHandle_t skip_decode, diopiTensorHandle_t cum_log_probs,
                           diopiTensorHandle_t output_log_probs, diopiGeneratorHandle_t* generators) {
    if (asks_for_size(*workspace_size, 0)) return diopiSuccess;
    return sample(ctx, op,
                  {output_ids, logits, end_ids, finished, sequence_lengths, step, batch, vocab, top_k, top_p,
                   skip_decode, cum_log_probs, output_log_probs, generators});
}

diopiError_t topp_sampling(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t output_ids,
                           diopiTensorHandle_t logits, diopiTensorHandle_t, int64_t* persistent_workspace_size,
                           diopiTensorHandle_t, int64_t* workspace_size, int64_t, diopiConstTensorHandle_t end_ids,
                           diopiTensorHandle_t finished, diopiTensorHandle_t sequence_lengths, int64_t step,
                           int64_t batch, int64_t vocab, diopiTensorHandle_t top_p,
                           diopiConstTensorHandle_t skip_decode, diopiTensorHandle_t cum_log_probs,
                           diopiTensorHandle_t output_log_probs, diopiGeneratorHandle_t* generators) {
    if (*persistent_workspace_size < 0 || *workspace_size < 0) {
        *persistent_workspace_size = *workspace_size = 0;
        return diopiSuccess;
    }
    return sample(ctx, op,
                  {output_ids, logits, end_ids, finished, sequence_lengths, step, batch, vocab, nullptr, top_p,
                   skip_decode, cum_log_probs, output_log_probs, generators});
}

}  // namespace

#include "kernels/entries/attention_sampling.inc"

}  // namespace diopi::cpu
