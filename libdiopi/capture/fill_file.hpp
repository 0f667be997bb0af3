/// An HDF5 file of values that tensors of cases are filled with (docs/variants.md): /OP/ARGUMENT, else /ARGUMENT.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/status.hpp"
#include "core/tensor.hpp"
#include "file/hdf5_file.hpp"

namespace diopi {

/// Read as far as cases ask for it.
class FillFile {
 public:
    [[nodiscard]] static Result<std::shared_ptr<FillFile>> open(const std::string& path);
    explicit FillFile(Hdf5File file) : file_(std::move(file)) {}

    /// Contiguous, in host memory, of a wide dtype. Null where the file has none, or one without elements.
    [[nodiscard]] Result<std::shared_ptr<const Tensor>> find(std::string_view op, std::string_view argument);

 private:
    [[nodiscard]] Result<std::shared_ptr<const Tensor>> read(const std::string& group, const std::string& name);

    Hdf5File file_;
    std::map<std::string, std::shared_ptr<const Tensor>> values_;
};

}  // namespace diopi
