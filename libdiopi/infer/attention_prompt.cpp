#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "infer/rules.hpp"

namespace diopi::infer_rules {

std::optional<std::string> wrong_heads(const Call& call, const Tensor& q, const Tensor& k, const Tensor& v) {
    const int64_t heads = call.integer("num_heads"), groups = call.integer("num_kv_heads"), dim = call.integer("dim");
    constexpr int64_t kMost = INT32_MAX;
    if (heads < 1 || groups < 1 || dim < 1 || heads > kMost || dim > kMost || heads % groups != 0) {
        return "num_heads " + std::to_string(heads) + " must be a multiple of num_kv_heads " + std::to_string(groups) +
               ", and dim " + std::to_string(dim) + " positive";
    }
    if (q.rank() != 2 || q.shape[1] != heads * dim) {
        return "query " + to_string(q.shape) + " must be (n, num_heads * dim), " + std::to_string(heads * dim) +
               " numbers in a row";
    }
    if (k.rank() != 2 || k.shape[1] != groups * dim || v.shape != k.shape) {
        return "key " + to_string(k.shape) + " and value " + to_string(v.shape) + " must be (n, num_kv_heads * dim), " +
               std::to_string(groups * dim) + " numbers in a row";
    }
    if (q.dtype == k.dtype && q.dtype == v.dtype && is_floating(q.dtype)) return std::nullopt;
    return "query " + std::string(name(q.dtype)) + ", key " + std::string(name(k.dtype)) + " and value " +
           std::string(name(v.dtype)) + " must have one floating dtype";
}

/// All tensors have a row for each token. Source: context attention of LightLLM.
Specs context_attention(Call& call, const ResultHints&) {
    const Tensor &out = *call.tensor("context_attention_out"), &q = *call.tensor("q");
    if (q.rank() != 3 || q.shape[2] < 1 || !is_floating(q.dtype)) {
        return contradiction(call, "q " + to_string(q.shape) + " must be (tokens, heads, d), floating");
    }
    for (const char* arg : {"context_attention_out", "k", "v"}) {
        const Tensor& tensor = *call.tensor(arg);
        if (tensor.shape == q.shape && (&tensor == &out ? is_floating(out.dtype) : tensor.dtype == q.dtype)) continue;
        return contradiction(
            call, std::string(arg) + " " + to_string(tensor.shape) + " must be like q " + to_string(q.shape));
    }
    const Tensor &starts = *call.tensor("b_start_loc"), &lengths = *call.tensor("b_seq_len");
    for (const Tensor* numbers : {&starts, &lengths}) {
        if (numbers->rank() == 1 && is_index(numbers->dtype) && numbers->shape == starts.shape) continue;
        return contradiction(call, "b_start_loc " + to_string(starts.shape) + " and b_seq_len " +
                                       to_string(lengths.shape) + " must be (batch) of int32 or int64");
    }
    if (call.integer("max_input_len") < 0) return contradiction(call, "max_input_len must not be negative");
    return std::vector<OutputSpec>{};
}

/// out is like query. Source: prompt attention of Ascend CANN.
Specs prompt_attention(Call& call, const ResultHints&) {
    const Tensor &q = *call.tensor("query"), &k = *call.tensor("key"), *mask = call.tensor("atten_mask");
    if (const auto wrong = wrong_heads(call, q, k, *call.tensor("value"))) return contradiction(call, *wrong);
    const IntList& lengths = *call.ints("actual_seq_lengths");
    const int64_t longest = call.integer("max_input_len");
    const bool fits = longest >= 0 && std::ranges::all_of(lengths, [=](int64_t length) {
                          return length >= 0 && length <= longest && length <= INT32_MAX;
                      });
    if (!fits || std::accumulate(lengths.begin(), lengths.end(), int64_t{0}) != q.shape[0] ||
        k.shape[0] != q.shape[0]) {
        return contradiction(call, "actual_seq_lengths " + to_string(lengths) + ", none above max_input_len " +
                                       std::to_string(longest) + ", must sum to the rows of query " +
                                       to_string(q.shape) + " and of key " + to_string(k.shape));
    }
    const Shape wanted = {std::ssize(lengths), longest, longest};
    if (mask != nullptr && (mask->shape != wanted || mask->dtype != Dtype::boolean)) {
        return contradiction(call,
                             "attenMask " + to_string(mask->shape) + " must be bool of shape " + to_string(wanted));
    }
    return one(call, "out", {q.shape, q.dtype, {}});
}

}  // namespace diopi::infer_rules
