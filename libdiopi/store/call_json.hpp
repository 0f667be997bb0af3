/// A call as JSON text: its function and each argument by name, kind and value. Tensors stand in it by name, dtype and
/// layout; their bytes are elsewhere. docs/hdf5.md describes the form.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "call/call.hpp"
#include "core/status.hpp"
#include "infer/infer.hpp"
#include "runtime/generator.hpp"

namespace diopi {

/// What a tensor is, what it is called, and where its elements lie in its storage.
struct TensorReference {
    std::string tensor;  ///< "input", "tensors.0"
    TensorSpec spec;     ///< with its strides
    int64_t offset = 0;  ///< of the first element in the storage
    int64_t extent = 0;  ///< elements that the storage has room for

    /// Whether it is contiguous and fills its storage.
    [[nodiscard]] bool is_dense() const;
    bool operator==(const TensorReference&) const = default;
};

/// A call with the generators that its handles point to.
struct StoredCall {
    Call call;
    std::vector<std::shared_ptr<Generator>> generators;
};

/// What the text calls a tensor; `place` is the argument it stands at first: "input", "tensors.2".
using NameTensor = std::function<std::string(const Tensor& tensor, const std::string& place)>;
/// The tensor that a reference stands for. Equal names must give the same tensor.
using FindTensor = std::function<Result<TensorPtr>(const TensorReference& reference)>;

/// One line. A sparse tensor, and an argument that does not fit its C type, is an error.
[[nodiscard]] Result<std::string> call_to_json(const Call& call, const NameTensor& name_of);
/// Every member is checked, and each layout keeps within its storage; `where` begins each message.
[[nodiscard]] Result<StoredCall> call_from_json(std::string_view text, const std::string& where,
                                                const FindTensor& find);

/// What a call's outputs must be, by argument name.
[[nodiscard]] std::string outputs_to_json(const Row& row, const std::vector<OutputSpec>& outputs);
[[nodiscard]] Result<std::vector<OutputSpec>> outputs_from_json(std::string_view text, const std::string& where,
                                                                const Row& row);

/// Layouts alone; the form of a tensor's value in a call.
[[nodiscard]] std::string layouts_to_json(const std::vector<TensorReference>& layouts);
[[nodiscard]] Result<std::vector<TensorReference>> layouts_from_json(std::string_view text, const std::string& where);

}  // namespace diopi
