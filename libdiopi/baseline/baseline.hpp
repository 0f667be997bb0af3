/// Baselines: the expected results of the operators of each case, stored in HDF5. docs/hdf5.md defines the layout.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.hpp"
#include "core/tensor.hpp"
#include "file/hdf5_file.hpp"

namespace diopi {

/// A tensor argument by its name. Each tensor of a list has a name: "tensors.0", "tensors.1".
struct NamedTensor {
    std::string name;
    TensorPtr tensor;
    /// The argument's own dtype; an expected output is stored in a wider one (wide_dtype).
    Dtype dtype = Dtype::float32;
};

/// The baseline of one case. Steps are "forward", "inplace" and "backward".
struct CaseBaseline {
    /// The program that computed the expected values: "diopi 1.0.0 reference", "pytorch 1.13.1". Set by the reader.
    std::string provenance;
    /// The file that it was read from; else empty.
    std::string file;
    /// Stored inputs, to be used instead of drawn ones; empty when inputs are drawn.
    std::vector<NamedTensor> inputs;
    /// Input name -> checksum_of_tensor of the input that the expected values were computed from.
    std::vector<std::pair<std::string, std::string>> input_hashes;
    /// Step -> expected outputs, in wide_dtype, contiguous.
    std::map<std::string, std::vector<NamedTensor>> expected;
};

/// `data`/baselines/ops/`op`.h5, or `data`/baselines/models/`suite`.h5 for a suite other than "ops".
[[nodiscard]] std::string baseline_path(const std::string& data, const std::string& suite, const std::string& op);

/// The part of a case id after the suite: "pointwise_binary.add.17" for "ops/pointwise_binary.add.17".
[[nodiscard]] std::string case_key(std::string_view case_id);

/// Whether `input` is the one that the baseline was made from; ok also if the baseline has no checksum of it.
Status check_input(const CaseBaseline& baseline, const std::string& name, const Tensor& input);

/// Writes one baseline file. The file gets its name only by finish().
class BaselineWriter {
 public:
    [[nodiscard]] static Result<BaselineWriter> create(const std::string& path, uint64_t seed,
                                                       const std::string& provenance);
    /// Adds a case; `key` comes from case_key(). After an error the file cannot be finished any more.
    Status add(const std::string& key, const CaseBaseline& baseline);
    [[nodiscard]] int64_t cases() const { return cases_; }
    Status finish();

 private:
    explicit BaselineWriter(Hdf5File file) : file_(std::move(file)) {}
    Status add_parts(const std::string& group, const CaseBaseline& baseline);

    Hdf5File file_;
    int64_t cases_ = 0;
    bool broken_ = false;
};

/// Reads a baseline file, of this program or of a few lines of h5py.
class BaselineReader {
 public:
    [[nodiscard]] static Result<BaselineReader> open(const std::string& path);
    [[nodiscard]] bool has(const std::string& key) const;
    /// The cases of the file, sorted by name.
    [[nodiscard]] std::vector<std::string> keys() const;
    /// Expected values are converted to wide_dtype from any stored dtype.
    [[nodiscard]] Result<CaseBaseline> read(const std::string& key) const;
    /// 0 when the file has none.
    [[nodiscard]] uint64_t seed() const { return seed_; }
    [[nodiscard]] const std::string& provenance() const { return provenance_; }

 private:
    explicit BaselineReader(Hdf5File file) : file_(std::move(file)) {}
    [[nodiscard]] Result<std::vector<NamedTensor>> read_expected(const std::string& group) const;
    [[nodiscard]] Status read_inputs(const std::string& group, CaseBaseline& baseline) const;

    Hdf5File file_;
    uint64_t seed_ = 0;
    std::string provenance_;
};

}  // namespace diopi
