/// An HDF5 file of values that replace those of cases' tensors (docs/variants.md): /OP/ARGUMENT, else /ARGUMENT.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/status.hpp"
#include "core/tensor.hpp"
#include "file/hdf5_file.hpp"

namespace diopi {

/// The file is read only as far as cases need it.
class FillFile {
 public:
    [[nodiscard]] static Result<std::shared_ptr<FillFile>> open(const std::string& path);
    explicit FillFile(Hdf5File file) : file_(std::move(file)) {}

    /// Contiguous, in host memory, of a wide dtype. Null if the file has no values, or an empty tensor.
    [[nodiscard]] Result<std::shared_ptr<const Tensor>> find(std::string_view op, std::string_view argument);

 private:
    [[nodiscard]] Result<std::shared_ptr<const Tensor>> read(const std::string& group, const std::string& name);

    Hdf5File file_;
    std::map<std::string, std::shared_ptr<const Tensor>> values_;
};

}  // namespace diopi
