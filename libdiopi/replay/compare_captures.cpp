#include <fmt/format.h>

#include <algorithm>

#include "replay/call_match.hpp"
#include "replay/compare_run.hpp"

namespace diopi {

namespace {

/// Adds the values of one tensor that both captures kept.
void add_kept(ComparedCall& compared, TensorPtr actual, TensorPtr expected, const TensorUse& use,
              const ToleranceTable& tolerances) {
    ComparedTensor tensor = compare_tensors(compared.call, *actual, *expected, use.place, tolerances);
    tensor.role = use.reads ? ComparedTensor::Role::kInout : ComparedTensor::Role::kOutput;
    tensor.nth = static_cast<size_t>(std::ranges::count(compared.tensors, tensor.role, &ComparedTensor::role));
    tensor.actual = std::move(actual);
    tensor.expected = std::move(expected);
    compared.tensors.push_back(std::move(tensor));
}

struct KeptCapture {
    const Capture& capture;
    const CaptureValues& values;
};

class CaptureComparison {
 public:
    CaptureComparison(const KeptCapture& one, const KeptCapture& other, const CompareOptions& options)
        : one_(one), other_(other), options_(options), pairs_(match_calls(one.capture, other.capture)) {}

    Status run() {
        for (size_t p = 0; p < pairs_.size(); ++p) {
            if (!pairs_[p].one || !pairs_[p].other) {
                options_.on_row(row_alone(p));
            } else if (Status s = compare_pair(p); !s.ok()) {
                return s;
            }
        }
        return {};
    }

 private:
    [[nodiscard]] bool is_in_place(size_t p) const {
        return pairs_[p].one && pairs_[p].other && !pairs_[p].out_of_order;
    }

    /// "call 3", or "call 3 and 4" for a pair.
    [[nodiscard]] std::string where(size_t p) const {
        const size_t one = *pairs_[p].one, other = *pairs_[p].other;
        return one == other ? fmt::format("call {}", one) : fmt::format("call {} and {}", one, other);
    }

    /// "call 3, relu (layer1.relu)"
    [[nodiscard]] std::string described(size_t p) const {
        const CapturedCall& call = one_.capture.calls[*pairs_[p].one];
        return fmt::format("{}, {}{}", where(p), call.overload, call.layer.empty() ? "" : " (" + call.layer + ")");
    }

    /// Sets the neighbours of a call: the nearest calls that both captures have.
    void take_neighbours(CompareRow& row, size_t p) const {
        size_t before = p;
        while (before > 0 && !is_in_place(before - 1)) --before;
        if (before > 0) row.after = described(before - 1);
        size_t after = p + 1;
        while (after < pairs_.size() && !is_in_place(after)) ++after;
        if (after < pairs_.size()) row.before = described(after);
    }

    [[nodiscard]] CompareRow row_alone(size_t p) const {
        const bool is_first = pairs_[p].one.has_value();
        const Capture& capture = is_first ? one_.capture : other_.capture;
        const size_t index = is_first ? *pairs_[p].one : *pairs_[p].other;
        const bool is_ambiguous = one_.capture.name == other_.capture.name;
        const std::string whose = !is_ambiguous ? capture.name : is_first ? "the first capture" : "the second capture";
        CompareRow row = row_without_answer(capture.calls[index], fmt::format("call {} of {}", index, whose), "");
        row.only_in = whose;
        take_neighbours(row, p);
        row.error = fmt::format("only {} has this call", whose);
        if (row.after.empty() && row.before.empty())
            row.error += "; no call is in both";
        else if (row.after.empty())
            row.error += ", before the first of both, " + row.before;
        else if (row.before.empty())
            row.error += ", after the last of both, " + row.after;
        else
            row.error += fmt::format(", between {}, and {}", row.after, row.before);
        return row;
    }

    /// Fills in the properties of a pair.
    void describe(CompareRow& row, size_t p) const {
        const CapturedCall& other = other_.capture.calls[*pairs_[p].other];
        if (other.layer != row.layer) row.other_layer = other.layer;
        row.out_of_order = pairs_[p].out_of_order;
        if (row.out_of_order) take_neighbours(row, p);
    }

    /// Compares the values that both captures kept.
    Status compare_pair(size_t p) {
        const size_t index = *pairs_[p].one;
        const CapturedCall& captured = one_.capture.calls[index];
        const auto skip = [&](const char* why) {
            CompareRow row = row_without_answer(captured, where(p), why);
            describe(row, p);
            options_.on_row(row);
            return Status();
        };
        if (!captured.call) return skip("the standard has no function for it");
        const Call call = captured.with_origin();
        ComparedCall compared{call, {}, {}};
        for (const TensorUse& use : uses_of(one_.capture, captured)) {
            if (!use.writes) continue;
            auto actual = one_.values.result(index, use.place);
            auto expected = other_.values.result(*pairs_[p].other, use.place);
            if (!actual.ok() || !expected.ok()) return (actual.ok() ? expected : actual).status();
            if (*actual == nullptr || *expected == nullptr) continue;
            add_kept(compared, std::move(*actual), std::move(*expected), use, *options_.tolerances);
        }
        if (compared.tensors.empty()) return skip("its values were not kept");
        CompareRow row = row_of(call, where(p));
        describe(row, p);
        return report_tensors(compared, row, options_.save_folder, options_.on_row);
    }

    KeptCapture one_, other_;
    const CompareOptions& options_;
    std::vector<CallPair> pairs_;
};

}  // namespace

Status compare_captures(const Capture& one, const CaptureValues& ones_values, const Capture& other,
                        const CaptureValues& others_values, const CompareOptions& options) {
    return CaptureComparison({one, ones_values}, {other, others_values}, options).run();
}

}  // namespace diopi
