/// A call in an HDF5 file: JSON text for its structure, a dataset per tensor.
#pragma once

#include <string>

#include "call/call.hpp"
#include "core/status.hpp"
#include "store/call_json.hpp"
#include "store/hdf5_file.hpp"

namespace diopi {

/// Attribute `call` of the group, and datasets `group`/tensors/<name>: the dense values of the call's host tensors,
/// whose layouts stand in the text. A tensor that several arguments share is written once.
Status write_call(Hdf5File& file, const std::string& group, const Call& call);

/// The call with host tensors, laid out as they were. A storage that is far larger than its elements (4096 times, and
/// over 1 MiB) is refused.
[[nodiscard]] Result<StoredCall> read_call(const Hdf5File& file, const std::string& group);

}  // namespace diopi
