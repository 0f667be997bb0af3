/// A capture: an ordered list of calls with the tensors and storages that they share. docs/capture.md describes the
/// files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "call/call.hpp"
#include "core/status.hpp"
#include "runtime/generator.hpp"

namespace diopi {

/// The recipe for the values of a storage when none were kept.
struct Recipe {
    enum class Kind { kConstant, kNormal, kUniform, kIntegers };
    Kind kind = Kind::kConstant;
    Dtype dtype = Dtype::float32;  ///< dtype of the storage's elements
    /// The numbers of the recipe: value; mean, std; low, high.
    double first = 0, second = 0;
    bool operator==(const Recipe&) const = default;
};

struct CapturedStorage {
    std::string id;
    int64_t nbytes = 0;
    /// Set when a call reads the storage before any call writes it.
    std::optional<Recipe> fill;
};

struct CapturedTensor {
    std::string id;
    size_t storage = 0;  ///< position in Capture::storages
    /// dtype, shape, strides and offset; its storage has a size and no memory.
    TensorPtr tensor;
    std::string label;                ///< "conv1.weight"
    std::optional<size_t> grad_of{};  ///< position of the tensor whose gradient it holds
};

struct CapturedCall : CallOrigin {
    /// The call, with this as its origin; there must be one.
    [[nodiscard]] Call with_origin() const;

    /// Its arguments are tensors of Capture::tensors; nullopt where the standard has no function for it.
    std::optional<Call> call;
    /// For a call without a function: positions in Capture::tensors.
    std::vector<size_t> reads;
    std::vector<std::pair<size_t, Recipe>> writes;
};

class Capture {
 public:
    std::string name, model, generator;
    std::string values;  ///< name of the HDF5 file beside the JSON file; empty: no values are kept
    std::vector<CapturedStorage> storages;
    std::vector<CapturedTensor> tensors;
    std::vector<CapturedCall> calls;
    /// The generators that the handles of the calls point to.
    std::vector<std::shared_ptr<Generator>> generators;

    /// Adds a tensor without memory; returns its position.
    size_t add_tensor(std::string id, size_t storage, const TensorSpec& spec, int64_t offset);
    /// Position in `tensors` of an argument of a call.
    [[nodiscard]] size_t position(const Tensor& tensor) const { return positions_.at(&tensor); }
    /// Position in `calls` of the call that has this origin.
    [[nodiscard]] size_t position(const CallOrigin& origin) const {
        return static_cast<size_t>(static_cast<const CapturedCall*>(&origin) - calls.data());
    }

 private:
    std::unordered_map<const Tensor*, size_t> positions_;
};

/// One tensor of a call, and the use that the call makes of it.
struct TensorUse {
    size_t tensor = 0;  ///< position in Capture::tensors
    std::string place;  ///< "input", "tensors.2"; the tensor's id if the call has no function
    bool reads = false, writes = false;
};

/// Every tensor of a call of the capture, in the order of its arguments.
[[nodiscard]] std::vector<TensorUse> uses_of(const Capture& capture, const CapturedCall& call);

}  // namespace diopi
