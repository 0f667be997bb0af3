/// Sampling: the arguments of each sequence, and its next token.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/random_sequence.hpp"

namespace diopi::reference {

namespace {

constexpr int64_t kMostTokens = 1024;

/// An output with a number for each sequence.
template <class T>
Output<T> numbers_of(diopiTensorHandle_t tensor, std::string_view argument, int64_t batch) {
    Output<T> y(tensor, argument);
    require_shape(argument, y.shape(), Shape{batch});
    return y;
}

/// The arguments of sampling for each sequence: the tensors' elements where a list has several, else one number for
/// all.
struct Arguments {
    int64_t batch;
    Output<int64_t> ks;
    Output<double> ps;

    Arguments(int64_t batch_size, diopiTensorHandle_t top_ks, int64_t top_ks_size, diopiTensorHandle_t top_ps,
              int64_t top_ps_size)
        : batch(batch_size),
          ks(top_ks, "top_ks", Output<int64_t>::Start::kOldValues),
          ps(top_ps, "top_ps", Output<double>::Start::kOldValues),
          has_ks_(top_ks_size > 1),
          has_ps_(top_ps_size > 1) {
        require_shape("top_ks", ks.shape(), Shape{batch});
        require_shape("top_ps", ps.shape(), Shape{batch});
        if (!is_integer(view_of(top_ks).dtype)) refuse_dtype("top_ks", view_of(top_ks).dtype, "an integer dtype");
        if (kind_of(view_of(top_ps).dtype) != Kind::kFloating) {
            refuse_dtype("top_ps", view_of(top_ps).dtype, "a floating dtype");
        }
        if ((has_ks_ && top_ks_size != batch) || (has_ps_ && top_ps_size != batch)) {
            refuse("top_ks_size is " + std::to_string(top_ks_size) + " and top_ps_size " + std::to_string(top_ps_size) +
                   ", wanted at most 1, or batch_size " + std::to_string(batch));
        }
    }

    /// k = 0 with p = 0 takes the most probable token; k > 0 with p = 0 has no cut.
    void normalise(int64_t top_k, float top_p) {
        for (int64_t i = 0; i < batch; ++i) {
            const int64_t k = std::clamp<int64_t>(has_ks_ ? ks[i] : top_k, 0, kMostTokens);
            const double p = has_ps_ ? ps[i] : static_cast<double>(top_p);
            ks[i] = k == 0 && p == 0 ? 1 : k;
            ps[i] = p == 0 && ks[i] > 0 ? 1 : std::clamp(p, 0.0, 1.0);
        }
    }

    void store() {
        ks.store();
        ps.store();
    }

 private:
    bool has_ks_, has_ps_;
};

diopiError_t topk_arguments(diopiContextHandle_t, std::string_view, diopiTensorHandle_t top_ks,
                            diopiTensorHandle_t top_ps, diopiTensorHandle_t skip_decode, int64_t batch_size,
                            int64_t top_k, int64_t top_ks_size, float top_p, int64_t top_ps_size) {
    return kernel([&] {
        Arguments a(batch_size, top_ks, top_ks_size, top_ps, top_ps_size);
        auto skips = numbers_of<int64_t>(skip_decode, "skip_decode", batch_size);
        a.normalise(top_k, top_p);
        for (int64_t i = 0; i < batch_size; ++i) skips[i] = a.ks[i] == 0 ? 1 : 0;
        a.store();
        skips.store();
    });
}

/// A number of (0, 1], or another in the place of one that is not.
double within(float number, double other) { return number > 0 && number <= 1 ? static_cast<double>(number) : other; }

diopiError_t topp_arguments(diopiContextHandle_t, std::string_view, diopiTensorHandle_t top_ks,
                            diopiTensorHandle_t top_ps, diopiTensorHandle_t skip_decode, int64_t batch_size,
                            int64_t top_k, int64_t top_ks_size, float top_p, int64_t top_ps_size,
                            diopiTensorHandle_t initial_top_p_buf, diopiTensorHandle_t top_p_decay_buf,
                            float top_p_decay, diopiTensorHandle_t top_p_min_buf, float top_p_min,
                            diopiTensorHandle_t top_p_reset_ids_buf, int64_t top_p_reset_ids) {
    return kernel([&] {
        Arguments a(batch_size, top_ks, top_ks_size, top_ps, top_ps_size);
        auto skips = numbers_of<int64_t>(skip_decode, "skip_decode", batch_size);
        auto initial = numbers_of<double>(initial_top_p_buf, "initial_top_p_buf", batch_size);
        auto decay = numbers_of<double>(top_p_decay_buf, "top_p_decay_buf", batch_size);
        auto least = numbers_of<double>(top_p_min_buf, "top_p_min_buf", batch_size);
        auto reset_ids = numbers_of<int64_t>(top_p_reset_ids_buf, "top_p_reset_ids_buf", batch_size);
        a.normalise(top_k, top_p);
        for (int64_t i = 0; i < batch_size; ++i) {
            skips[i] = a.ks[i] > 0 ? 1 : 0;
            initial[i] = a.ps[i];
            decay[i] = within(top_p_decay, 1);
            least[i] = within(top_p_min, 0.5);
            reset_ids[i] = top_p_reset_ids;
        }
        a.store();
        skips.store();
        initial.store();
        decay.store();
        least.store();
        reset_ids.store();
    });
}

/// The most probable tokens of a sequence, of equal logits the first one first, with their shares exp(logit - largest).
struct Candidates {
    std::vector<int64_t> tokens;
    std::vector<double> shares;
    double all = 0, kept = 0;  ///< the sums of all tokens' shares, and of these

    Candidates(const double* logits, int64_t vocab, int64_t k) {
        std::vector<double> x(logits, logits + vocab);
        for (double& each : x) each = std::isnan(each) ? -HUGE_VAL : each;
        tokens.resize(x.size());
        std::iota(tokens.begin(), tokens.end(), 0);
        std::ranges::stable_sort(tokens, std::ranges::greater(), [&](int64_t t) { return x[static_cast<size_t>(t)]; });
        const double largest = *std::ranges::max_element(x);
        for (const int64_t t : tokens) {
            const double logit = x[static_cast<size_t>(t)];
            shares.push_back(logit == largest ? 1 : std::exp(logit - largest));
        }
        all = std::accumulate(shares.begin(), shares.end(), 0.0);
        tokens.resize(static_cast<size_t>(std::min(k, vocab)));
        shares.resize(tokens.size());
        kept = std::accumulate(shares.begin(), shares.end(), 0.0);
    }
    /// The position of the first one whose cumulated share exceeds `bound`.
    [[nodiscard]] size_t position(double bound) const {
        double sum = 0;
        for (size_t i = 0; i < shares.size(); ++i) {
            sum += shares[i];
            if (sum > bound) return i;
        }
        return shares.size() - 1;
    }
};

/// What both ways of sampling take; without k, all tokens are candidates.
struct Sampling {
    diopiTensorHandle_t output_ids;
    diopiConstTensorHandle_t logits, end_ids;
    diopiTensorHandle_t finished, sequence_lengths;
    int64_t step, batch, vocab;
    diopiConstTensorHandle_t top_k, top_p, skip_decode;
    diopiTensorHandle_t cum_log_probs, output_log_probs;
    diopiGeneratorHandle_t* generators;
};

/// The tensors of the sequences, with one element for each.
struct Sequences {
    Output<int64_t> ids, finished, lengths;
    Output<double> sums, logs;
    Operand<double> logits, top_p;
    Operand<int64_t> ends, skips;

    explicit Sequences(const Sampling& a)
        : ids(a.output_ids, "output_ids", Output<int64_t>::Start::kOldValues),
          finished(a.finished, "finished?", Output<int64_t>::Start::kOldValues),
          lengths(a.sequence_lengths, "sequence_lengths?", Output<int64_t>::Start::kOldValues),
          sums(a.cum_log_probs, "cum_log_probs?", Output<double>::Start::kOldValues),
          logs(a.output_log_probs, "output_log_probs?", Output<double>::Start::kOldValues),
          logits(a.logits, "logits"),
          top_p(a.top_p, "runtime_top_p"),
          ends(a.end_ids, "end_ids?"),
          skips(a.skip_decode, "skip_decode?") {
        if (a.vocab < 1) refuse("vocab_size_padded is " + std::to_string(a.vocab) + ", wanted 1 or more");
        require_shape("logits", logits.shape(), Shape{a.batch, a.vocab});
        if (ids.rank() != 2 || ids.size(1) != a.batch || a.step < 0 || a.step >= ids.size(0)) {
            refuse("output_ids has shape " + to_string(ids.shape()) + ", wanted a row " + std::to_string(a.step) +
                   " of " + std::to_string(a.batch));
        }
        const Shape each{a.batch};
        if (finished) require_shape("finished", finished.shape(), each);
        if (lengths) require_shape("sequence_lengths", lengths.shape(), each);
        if (sums) require_shape("cum_log_probs", sums.shape(), each);
        if (logs) require_shape("output_log_probs", logs.shape(), each);
        if (ends) require_shape("end_ids", ends.shape(), each);
        if (skips) require_shape("skip_decode", skips.shape(), each);
        require_shape("runtime_top_p", top_p.shape(), each);
        if (a.batch > 0 && a.generators == nullptr) refuse("generators is null, wanted one for each sequence");
    }

    [[nodiscard]] bool is_skipped(int64_t i) const { return skips && skips[i] != 0; }
    [[nodiscard]] bool draws(int64_t i) { return !is_skipped(i) && (!finished || finished[i] == 0); }
    void store() {
        ids.store();
        finished.store();
        lengths.store();
        sums.store();
        logs.store();
    }
};

/// The first candidate whose cumulated probability exceeds u p.
void draw_token(const Sampling& a, Sequences& s, int64_t i, int64_t k) {
    const Candidates candidates(s.logits.data() + i * a.vocab, a.vocab, k);
    const Sequence random(a.generators[i]);
    const double u = random.uniform<float>(1)[0];
    random.advance(1);
    const size_t at = candidates.position(u * s.top_p[i] * candidates.kept);
    const int64_t token = candidates.tokens[at];
    s.ids[a.step * a.batch + i] = token;
    if (s.finished && s.ends && s.ends[i] == token) s.finished[i] = 1;
    if (s.lengths) s.lengths[i] += 1;
    if (s.sums) s.sums[i] += std::log(candidates.shares[at] / candidates.all);
    if (s.logs) s.logs[i] = std::log(candidates.shares[at] / candidates.kept);
}

void sample(const Sampling& a) {
    Sequences s(a);
    const Operand<int64_t> top_k(a.top_k, "runtime_top_k?");
    if (top_k) require_shape("runtime_top_k", top_k.shape(), Shape{a.batch});
    for (int64_t i = 0; i < a.batch; ++i) {
        if (!s.draws(i)) continue;
        if (top_k && top_k[i] < 1) refuse("runtime_top_k holds " + std::to_string(top_k[i]) + ", wanted 1 or more");
        if (!(s.top_p[i] >= 0 && s.top_p[i] <= 1)) refuse("runtime_top_p holds " + std::to_string(s.top_p[i]));
    }
    for (int64_t i = 0; i < a.batch; ++i) {
        if (s.is_skipped(i)) continue;
        if (s.draws(i)) {
            draw_token(a, s, i, top_k ? top_k[i] : a.vocab);
            continue;
        }
        if (s.ends) s.ids[a.step * a.batch + i] = s.ends[i];
        if (s.logs) s.logs[i] = 0;
    }
    s.store();
}

diopiError_t topk_sampling(diopiContextHandle_t, std::string_view, diopiTensorHandle_t output_ids,
                           diopiTensorHandle_t logits, diopiTensorHandle_t, int64_t* workspace_size, int64_t,
                           diopiConstTensorHandle_t end_ids, diopiTensorHandle_t finished,
                           diopiTensorHandle_t sequence_lengths, int64_t step, int64_t batch, int64_t vocab,
                           diopiConstTensorHandle_t top_k, diopiConstTensorHandle_t top_p,
                           diopiConstTensorHandle_t skip_decode, diopiTensorHandle_t cum_log_probs,
                           diopiTensorHandle_t output_log_probs, diopiGeneratorHandle_t* generators) {
    return kernel([&] {
        if (*workspace_size < 0) {
            *workspace_size = 0;
            return;
        }
        sample({output_ids, logits, end_ids, finished, sequence_lengths, step, batch, vocab, top_k, top_p, skip_decode,
                cum_log_probs, output_log_probs, generators});
    });
}

diopiError_t topp_sampling(diopiContextHandle_t, std::string_view, diopiTensorHandle_t output_ids,
                           diopiTensorHandle_t logits, diopiTensorHandle_t, int64_t* persistent_workspace_size,
                           diopiTensorHandle_t, int64_t* workspace_size, int64_t, diopiConstTensorHandle_t end_ids,
                           diopiTensorHandle_t finished, diopiTensorHandle_t sequence_lengths, int64_t step,
                           int64_t batch, int64_t vocab, diopiTensorHandle_t top_p,
                           diopiConstTensorHandle_t skip_decode, diopiTensorHandle_t cum_log_probs,
                           diopiTensorHandle_t output_log_probs, diopiGeneratorHandle_t* generators) {
    return kernel([&] {
        if (*persistent_workspace_size < 0 || *workspace_size < 0) {
            *persistent_workspace_size = *workspace_size = 0;
            return;
        }
        sample({output_ids, logits, end_ids, finished, sequence_lengths, step, batch, vocab, nullptr, top_p,
                skip_decode, cum_log_probs, output_log_probs, generators});
    });
}

}  // namespace

#include "kernels/entries/attention_sampling.inc"

}  // namespace diopi::reference
