#include "check/token_sampling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "check/oracle.hpp"

namespace diopi {

namespace {

/// What rounding makes of the cumulated probability before a token: so much beyond the cut it may still be drawn.
constexpr double kCutRounding = 1e-5;
/// The weight of such a token.
constexpr double kHardlyAny = 1e-300;
/// The relative error of float32 log-probabilities, whose sums of exponentials have many terms.
constexpr double kLogRounding = 0x1p-18;

/// The elements in row-major order; none of an absent tensor.
std::vector<double> numbers_of(const Tensor* tensor) {
    if (tensor == nullptr) return {};
    const Tensor wide = to_oracle(*tensor, Dtype::float64);
    return {wide.data_as<double>(), wide.data_as<double>() + wide.numel()};
}

/// The numbers of a tensor before and after the call.
struct Numbers {
    std::vector<double> before, after;

    explicit Numbers(const SampledTokens::Change& change)
        : before(numbers_of(change.before)), after(numbers_of(change.after)) {}
    [[nodiscard]] bool given() const { return !before.empty(); }
};

/// The probabilities of one sequence: exp(logit - largest) as shares, of all tokens and of the top k.
struct Probabilities {
    std::vector<double> shares;
    std::vector<double> weights;  ///< of a token being drawn
    double all = 0, kept = 0;

    Probabilities(std::vector<double> logits, int64_t k, double p) : shares(logits.size()), weights(logits.size()) {
        for (double& x : logits) x = std::isnan(x) ? -HUGE_VAL : x;
        std::vector<size_t> order(logits.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::ranges::stable_sort(order, std::ranges::greater(), [&](size_t t) { return logits[t]; });
        const double largest = logits[order.front()];
        order.resize(static_cast<size_t>(std::min<int64_t>(k, std::ssize(order))));
        for (size_t t = 0; t < shares.size(); ++t) shares[t] = logits[t] == largest ? 1 : std::exp(logits[t] - largest);
        all = std::accumulate(shares.begin(), shares.end(), 0.0);
        for (const size_t t : order) kept += shares[t];
        double below = 0;
        for (const size_t t : order) {
            const double share = shares[t] / kept;
            if (share > 0 && below <= p + kCutRounding) weights[t] = std::max(std::min(share, p - below), kHardlyAny);
            below += share;
        }
    }
    /// The probability that two draws are the same token.
    [[nodiscard]] double agreement() const {
        const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
        double same = 0;
        for (const double weight : weights) same += weight / sum * (weight / sum);
        return same;
    }
};

class TokenCheck {
 public:
    explicit TokenCheck(const SampledTokens& tokens)
        : logits_(numbers_of(&tokens.logits)),
          top_k_(numbers_of(tokens.top_k)),
          skip_(numbers_of(tokens.skip)),
          end_ids_(numbers_of(tokens.end_ids)),
          ids_(tokens.ids),
          finished_(tokens.finished),
          lengths_(tokens.lengths),
          top_p_(tokens.top_p),
          sums_(tokens.cum_log_probs),
          logs_(tokens.log_probs),
          batch_(tokens.logits.shape[0]),
          vocab_(tokens.logits.shape[1]),
          step_(tokens.step) {}

    [[nodiscard]] DistributionCheck run() {
        check_other_rows();
        for (size_t i = 0; i < static_cast<size_t>(batch_) && check_.passed; ++i) check_sequence(i);
        return check_.passed ? check_frequencies() : check_;
    }

 private:
    void expect(bool holds, size_t i, const std::string& what) {
        if (holds || !check_.passed) return;
        check_.passed = false;
        check_.reason = "sequence " + std::to_string(i) + ": " + what;
    }
    void expect_unchanged(const Numbers& numbers, size_t i, const char* what) {
        const bool is_same = !numbers.given() || numbers.before[i] == numbers.after[i] ||
                             (std::isnan(numbers.before[i]) && std::isnan(numbers.after[i]));
        expect(is_same, i, std::string(what) + " changed");
    }
    void expect_near(const std::vector<double>& came, size_t i, double wanted, double size, const char* what) {
        if (came.empty()) return;
        const bool is_near = std::fabs(came[i] - wanted) <= kLogRounding * (1 + size) || came[i] == wanted;
        expect(is_near || std::isnan(wanted), i,
               std::string(what) + " is " + std::to_string(came[i]) + ", wanted " + std::to_string(wanted));
    }
    [[nodiscard]] size_t place(size_t i) const { return static_cast<size_t>(step_ * batch_) + i; }

    void check_other_rows() {
        for (size_t at = 0; at < ids_.before.size() && check_.passed; ++at) {
            const bool is_row = at >= place(0) && at < place(static_cast<size_t>(batch_));
            expect(is_row || ids_.before[at] == ids_.after[at], at % static_cast<size_t>(batch_),
                   "a token of another step changed");
        }
    }

    void check_sequence(size_t i) {
        const double p = top_p_.before[i];
        expect(top_p_.after[i] >= 0 && top_p_.after[i] <= p, i, "runtime_top_p grew");
        const bool is_skipped = !skip_.empty() && skip_[i] != 0,
                   was_finished = finished_.given() && finished_.before[i] != 0;
        if (is_skipped || was_finished) return check_undrawn(i, is_skipped);
        const double token = ids_.after[place(i)];
        const bool is_token = token >= 0 && token < static_cast<double>(vocab_);
        expect(is_token, i,
               "the token is " + std::to_string(static_cast<int64_t>(token)) + ", of " + std::to_string(vocab_));
        if (!is_token) return;
        const auto row = logits_.begin() + static_cast<std::ptrdiff_t>(i) * vocab_;
        const int64_t k = top_k_.empty() ? vocab_ : static_cast<int64_t>(top_k_[i]);
        const Probabilities law({row, row + vocab_}, k, p);
        const auto at = static_cast<size_t>(token);
        expect(law.weights[at] > 0, i, "token " + std::to_string(at) + " is not among the top k up to the cut at p");
        if (finished_.given()) {
            const bool ends = !end_ids_.empty() && end_ids_[i] == token;
            expect((finished_.after[i] != 0) == ends, i, "finished is wrong");
        }
        if (lengths_.given()) expect(lengths_.after[i] == lengths_.before[i] + 1, i, "its length did not grow by 1");
        const double log_all = std::log(law.shares[at] / law.all), log_kept = std::log(law.shares[at] / law.kept);
        expect_near(logs_.after, i, log_kept, std::fabs(log_kept), "output_log_probs");
        if (sums_.given()) {
            const double before = sums_.before[i];
            expect_near(sums_.after, i, before + log_all, std::fabs(before) + std::fabs(log_all), "cum_log_probs");
        }
        drawn_.push_back(token);
        weights_.insert(weights_.end(), law.weights.begin(), law.weights.end());
        log_agreement_ += std::log(law.agreement());
    }

    /// Of a skipped sequence nothing changes; a finished one gets its end again.
    void check_undrawn(size_t i, bool is_skipped) {
        const double before = ids_.before[place(i)];
        const double wanted = is_skipped || end_ids_.empty() ? before : end_ids_[i];
        expect(ids_.after[place(i)] == wanted, i,
               is_skipped ? "skipped, its token changed" : "finished, its token is wrong");
        expect_unchanged(finished_, i, "finished");
        expect_unchanged(lengths_, i, "its length");
        expect_unchanged(sums_, i, "cum_log_probs");
        if (is_skipped)
            expect_unchanged(logs_, i, "output_log_probs");
        else
            expect_near(logs_.after, i, 0, 0, "output_log_probs");
    }

    [[nodiscard]] DistributionCheck check_frequencies() const {
        const auto n = std::ssize(drawn_);
        Tensor drawn = make_host_tensor({n, 1}, Dtype::float64),
               weights = make_host_tensor({n, vocab_}, Dtype::float64);
        std::ranges::copy(drawn_, drawn.data_as<double>());
        std::ranges::copy(weights_, weights.data_as<double>());
        DistributionCheck check = check_categorical(drawn, weights, true);
        check.agreement = std::exp(log_agreement_);
        return check;
    }

    std::vector<double> logits_, top_k_, skip_, end_ids_;
    Numbers ids_, finished_, lengths_, top_p_, sums_, logs_;
    int64_t batch_, vocab_, step_;
    DistributionCheck check_;
    std::vector<double> drawn_, weights_;
    double log_agreement_ = 0;
};

}  // namespace

DistributionCheck check_sampled_tokens(const SampledTokens& tokens) { return TokenCheck(tokens).run(); }

}  // namespace diopi
