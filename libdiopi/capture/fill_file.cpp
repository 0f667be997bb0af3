#include "capture/fill_file.hpp"

#include "core/convert.hpp"
#include "runtime/device.hpp"

namespace diopi {

Result<std::shared_ptr<FillFile>> FillFile::open(const std::string& path) {
    auto file = Hdf5File::open(path);
    if (!file.ok()) return file.error();
    return std::make_shared<FillFile>(std::move(*file));
}

Result<std::shared_ptr<const Tensor>> FillFile::find(std::string_view op, std::string_view argument) {
    const std::string group = "/" + std::string(op);
    const std::string name(argument);
    if (file_.has(group) && file_.has(group + "/" + name)) return read(group, name);
    if (file_.has("/" + name)) return read("/", name);
    return std::shared_ptr<const Tensor>();
}

Result<std::shared_ptr<const Tensor>> FillFile::read(const std::string& group, const std::string& name) {
    const std::string path = (group == "/" ? "" : group) + "/" + name;
    if (const auto known = values_.find(path); known != values_.end()) return known->second;
    auto stored = file_.read_tensor(group, name);
    if (!stored.ok()) return stored.error();
    auto wide = make_tensor(cpu_device(), {(*stored)->shape, wide_dtype((*stored)->dtype), {}});
    if (!wide.ok()) return wide.error();
    widen(**stored, **wide);
    std::shared_ptr<const Tensor>& values = values_[path];
    if ((*wide)->numel() > 0) values = *wide;
    return values;
}

}  // namespace diopi
