/// A call in an HDF5 file: a capture of one call as JSON text (docs/capture.md), a dataset per tensor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "call/call.hpp"
#include "core/status.hpp"
#include "file/hdf5_file.hpp"
#include "runtime/generator.hpp"

namespace diopi {

/// A call with the generators that its handles point to.
struct StoredCall {
    Call call;
    std::vector<std::shared_ptr<Generator>> generators;
};

/// Attribute `call` of the group, and datasets `group`/tensors/<id>: the dense values of the call's host tensors. A
/// tensor's id is its first place: "input", "tensors.2". A tensor that several arguments share is written once, and
/// tensors that share memory share a storage.
Status write_call(Hdf5File& file, const std::string& group, const Call& call);

/// The call with host tensors in their former layout. A storage that is far larger than its elements (4096 times, and
/// over 1 MiB) is refused.
[[nodiscard]] Result<StoredCall> read_call(const Hdf5File& file, const std::string& group);

}  // namespace diopi
