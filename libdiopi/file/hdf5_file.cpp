#include "file/hdf5_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <hdf5.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "core/extent.hpp"
#include "core/half.hpp"
#include "core/input_file.hpp"
#include "file/atomic_file.hpp"
#include "file/hdf5_types.hpp"
#include "runtime/device.hpp"

namespace diopi {

namespace {

using hdf5::Handle;
using hdf5::Session;

/// Datasets up to this size are stored in their object's header: that saves a seek for each of thousands of outputs.
constexpr size_t kCompactBytes = 1024;
/// The largest ratio that HDF5's filters reach on real data (deflate: 1030); a shape that needs more is refused.
constexpr uint64_t kLargestCompression = 1100;
constexpr uint64_t kAlwaysPlausible = uint64_t{1} << 20;

std::string join(const std::string& group, const std::string& name) {
    return group == "/" ? "/" + name : group + "/" + name;
}

/// Leaves times out of the file, so that equal content gives equal bytes.
Handle without_times(hid_t property_class) {
    Handle properties(H5Pcreate(property_class));
    H5Pset_obj_track_times(properties.get(), false);
    return properties;
}

bool has_signature(const std::string& path) {
    constexpr char kSignature[] = "\x89HDF\r\n\x1a\n";
    std::ifstream file(path, std::ios::binary);
    char start[8] = {};
    // A user block of 512, 1024, ... bytes may stand before the signature.
    for (std::streamoff at = 0; file.seekg(at) && file.read(start, sizeof start); at = at == 0 ? 512 : 2 * at) {
        if (std::memcmp(start, kSignature, sizeof start) == 0) return true;
    }
    return false;
}

/// The reason why HDF5 cannot open a file.
Error unreadable(const std::string& path, const std::string& message) {
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0) {
        return bad_input(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    }
    if (::access(path.c_str(), R_OK) != 0) {
        return bad_input(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    }
    if (info.st_size == 0) return bad_input(fmt::format("{} is empty (0 bytes); generate it again", path));
    if (!has_signature(path)) return bad_input(fmt::format("{} is not an HDF5 file", path));
    return bad_input(fmt::format("{} is truncated or damaged ({} bytes; {}); generate it again or copy it again", path,
                                 info.st_size, message));
}

/// The system's reason for a failed write, if it is known: HDF5's driver says that a write failed, but not why.
std::string reason_of(const std::string& message) {
    const int code = errno;
    const bool is_known = code == ENOSPC || code == EDQUOT || code == EFBIG || code == EIO;
    return is_known ? std::strerror(code) : message;
}

/// Rank and sizes of a dataset, within what a tensor can have.
Result<Shape> shape_of(hid_t space, const std::string& where) {
    if (H5Sget_simple_extent_type(space) == H5S_NULL) return Shape{0};
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 0) return bad_input(fmt::format("{}: its shape cannot be read", where));
    std::vector<hsize_t> sizes(static_cast<size_t>(rank));
    if (rank > 0) H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
    Shape shape;
    for (const hsize_t size : sizes) {
        if (size > static_cast<hsize_t>(INT64_MAX))
            return bad_input(fmt::format("{}: size {} is impossible", where, size));
        shape.push_back(static_cast<int64_t>(size));
    }
    return shape;
}

/// Refuses a dataset stored in another file, or one that claims more elements than its stored bytes can hold.
Status check_backing(hid_t dataset, const Shape& shape, size_t element, const std::string& where) {
    if (!is_addressable(shape)) {
        return bad_input(fmt::format("{}: shape {} has too many elements", where, to_string(shape)));
    }
    const uint64_t wanted = static_cast<uint64_t>(numel(shape)) * element;
    const Handle properties(H5Dget_create_plist(dataset));
    const H5D_layout_t layout = H5Pget_layout(properties.get());
    if (layout == H5D_VIRTUAL || H5Pget_external_count(properties.get()) > 0) {
        return bad_input(fmt::format("{}: its values are stored in another file; store them in this one", where));
    }
    const uint64_t stored = H5Dget_storage_size(dataset);
    const bool packed = layout == H5D_CHUNKED;
    const bool is_plausible =
        packed ? wanted <= kAlwaysPlausible || wanted / kLargestCompression <= stored : wanted <= stored;
    if (is_plausible || wanted == 0) return {};
    return bad_input(
        fmt::format("{}: shape {} wants {} bytes, but only {} are stored", where, to_string(shape), wanted, stored));
}

/// Refuses a dataset whose values went through a filter that this HDF5 library does not have.
Status check_filters(hid_t dataset, const std::string& where) {
    const Handle properties(H5Dget_create_plist(dataset));
    const int count = H5Pget_nfilters(properties.get());
    for (int i = 0; i < count; ++i) {
        char title[64] = {};
        unsigned flags = 0;
        size_t parameters = 0;
        const H5Z_filter_t filter = H5Pget_filter2(properties.get(), static_cast<unsigned>(i), &flags, &parameters,
                                                   nullptr, sizeof title, title, nullptr);
        if (filter < 0 || H5Zfilter_avail(filter) > 0) continue;
        const std::string_view known = title[0] == '\0' ? std::string_view("without a name") : title;
        return bad_input(
            fmt::format("{} is stored with the filter {} (number {}), which the HDF5 library of this program does not "
                        "have; store it without a filter, or with gzip",
                        where, known, filter));
    }
    return {};
}

/// Converts float16 to float32 and back with its NaN payloads, which HDF5's own conversion does not keep.
float widened(Half x) { return to_float(x); }
Half narrowed(float x) {
    const auto bits = std::bit_cast<uint32_t>(x);
    if (!std::isnan(x)) return to_half(x);
    const uint32_t payload = (bits >> 13) & 0x3ffu;
    return {static_cast<uint16_t>(((bits >> 16) & 0x8000u) | 0x7c00u | (payload == 0 ? 0x200u : payload))};
}

/// Converts between complex32 and complex64, element by element; both are contiguous.
Result<TensorPtr> converted_complex(const Tensor& from, Dtype to) {
    auto out = make_tensor(cpu_device(), {from.shape, to, {}});
    if (!out.ok()) return out;
    const int64_t parts = 2 * from.numel();
    if (to == Dtype::complex64) {
        std::transform(from.data_as<Half>(), from.data_as<Half>() + parts, (*out)->data_as<float>(), widened);
    } else {
        std::transform(from.data_as<float>(), from.data_as<float>() + parts, (*out)->data_as<Half>(), narrowed);
    }
    return out;
}

/// Converts the float32 that numpy writes for bfloat16.
Result<TensorPtr> rounded_to_bfloat16(const Tensor& from) {
    auto out = make_tensor(cpu_device(), {from.shape, Dtype::bfloat16, {}});
    if (!out.ok()) return out;
    const auto* values = from.data_as<float>();
    std::transform(values, values + from.numel(), (*out)->data_as<Bfloat16>(), [](float x) { return to_bfloat16(x); });
    return out;
}

/// The tensor as files store it: contiguous, in a dtype that h5py knows. It shares the storage where possible.
Result<Tensor> storable(const Tensor& tensor) {
    Tensor packed = tensor;
    if (!tensor.is_contiguous()) {
        auto copy = to_host(cpu_device(), nullptr, tensor);
        if (!copy.ok()) return copy.error();
        packed = **copy;
    }
    if (tensor.dtype == Dtype::complex32) {
        auto wide = converted_complex(packed, Dtype::complex64);
        if (!wide.ok()) return wide.error();
        packed = **wide;
    }
    packed.dtype = hdf5::stored_as(tensor.dtype);
    return packed;
}

Handle utf8_string_type() {
    Handle type(H5Tcopy(H5T_C_S1));
    H5Tset_size(type.get(), H5T_VARIABLE);
    H5Tset_cset(type.get(), H5T_CSET_UTF8);
    return type;
}

std::string fixed_string(hid_t attribute, hid_t type) {
    std::string text(H5Tget_size(type), '\0');
    if (H5Aread(attribute, type, text.data()) < 0) return {};
    return text.substr(0, text.find('\0'));
}

std::string variable_string(hid_t attribute) {
    const Handle type = utf8_string_type();
    const Handle stored(H5Aget_type(attribute));
    H5Tset_cset(type.get(), H5Tget_cset(stored.get()));
    char* text = nullptr;
    if (H5Aread(attribute, type.get(), &text) < 0 || text == nullptr) return {};
    std::string copy = text;
    H5free_memory(text);
    return copy;
}

/// Replaces an attribute; returns the library's error message, empty on success.
std::string write_scalar_attribute(hid_t file, const std::string& object, const std::string& name, hid_t type,
                                   const void* value) {
    if (H5Aexists_by_name(file, object.c_str(), name.c_str(), H5P_DEFAULT) > 0) {
        H5Adelete_by_name(file, object.c_str(), name.c_str(), H5P_DEFAULT);
    }
    const Handle space(H5Screate(H5S_SCALAR));
    const Handle attribute(H5Acreate_by_name(file, object.c_str(), name.c_str(), type, space.get(), H5P_DEFAULT,
                                             H5P_DEFAULT, H5P_DEFAULT));
    if (attribute.ok() && H5Awrite(attribute.get(), type, value) >= 0) return {};
    return hdf5::last_error_message();
}

/// Opens a scalar attribute (or one of a single element) of a number class.
template <class T>
Result<T> read_number(hid_t file, const std::string& path, const std::string& object, const std::string& name,
                      hid_t type) {
    const Handle attribute(H5Aopen_by_name(file, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT));
    if (!attribute.ok()) return bad_input(fmt::format("{}: {} has no attribute `{}`", path, object, name));
    const Handle space(H5Aget_space(attribute.get()));
    const Handle stored(H5Aget_type(attribute.get()));
    T value{};
    if (H5Sget_simple_extent_npoints(space.get()) != 1 || H5Tget_class(stored.get()) == H5T_STRING ||
        H5Aread(attribute.get(), type, &value) < 0) {
        return bad_input(fmt::format("{}: attribute `{}` of {} is not a number", path, name, object));
    }
    return value;
}

herr_t collect_link(hid_t, const char* name, const H5L_info_t*, void* names) {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return 0;
}

herr_t collect_attribute(hid_t, const char* name, const H5A_info_t*, void* names) {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return 0;
}

}  // namespace

Result<Hdf5File> Hdf5File::create(const std::string& path) {
    const Session session;
    if (Status s = make_parent_folder(path); !s.ok()) return s.error();
    const Handle access(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
    // This gives compact groups and headers that every HDF5 since 1.8 reads.
    H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_LATEST);
    H5Pset_file_locking(access.get(), true, true);
    // The default driver asks for the real path behind a link, which a file without a name does not have.
    H5Pset_fapl_stdio(access.get());
    const Handle creation = without_times(H5P_FILE_CREATE);
    auto pending = PendingFile::create(path);
    if (!pending.ok()) return pending.error();
    errno = 0;
    const hid_t id = H5Fcreate(pending->open_path().c_str(), H5F_ACC_TRUNC, creation.get(), access.get());
    if (id < 0) {
        return failed(fmt::format("cannot create {}: {}; is the folder writable, and does no other run write there?",
                                  path, reason_of(hdf5::last_error_message())));
    }
    Hdf5File file(path, id, std::move(*pending));
    if (Status s = file.write_attribute("/", "diopi_format", kHdf5Format); !s.ok()) return s.error();
    return file;
}

Result<Hdf5File> Hdf5File::open(const std::string& path) {
    if (Status s = check_input_file(path); !s.ok()) return s.error();
    const Session session;
    const Handle access(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
    // A file with its final name never changes, and locks fail on some network file systems.
    H5Pset_file_locking(access.get(), false, true);
    const hid_t id = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get());
    if (id < 0) return unreadable(path, hdf5::last_error_message());
    Hdf5File file(path, id, std::nullopt);
    if (!file.has_attribute("/", "diopi_format")) {
        return bad_input(
            fmt::format("{} is an HDF5 file of another program: its root has no attribute `diopi_format` "
                        "(docs/hdf5.md shows what a file must have)",
                        path));
    }
    const Result<int64_t> format = file.read_int("/", "diopi_format");
    if (!format.ok()) return format.error();
    if (*format < 1 || *format > kHdf5Format) {
        return bad_input(
            fmt::format("{} has format {}, this program reads up to {}; use a newer diopi or generate it "
                        "again",
                        path, *format, kHdf5Format));
    }
    return file;
}

Hdf5File::~Hdf5File() { abandon(); }

Hdf5File::Hdf5File(Hdf5File&& other) noexcept
    : path_(std::move(other.path_)),
      id_(std::exchange(other.id_, -1)),
      pending_(std::exchange(other.pending_, std::nullopt)) {}

Hdf5File& Hdf5File::operator=(Hdf5File&& other) noexcept {
    if (this != &other) {
        abandon();
        path_ = std::move(other.path_);
        id_ = std::exchange(other.id_, -1);
        pending_ = std::exchange(other.pending_, std::nullopt);
    }
    return *this;
}

void Hdf5File::abandon() {
    if (id_ < 0) return;
    const Session session;
    if (pending_) {
        // On a full disk the library cannot write the rest, and would not close the file: the rest goes to /dev/null.
        void* stream = nullptr;  // the driver's FILE*
        const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
        if (nowhere >= 0 && H5Fget_vfd_handle(id_, H5P_DEFAULT, &stream) >= 0 && stream != nullptr) {
            ::dup2(nowhere, ::fileno(*static_cast<std::FILE**>(stream)));
        }
        if (nowhere >= 0) ::close(nowhere);
    }
    H5Fclose(id_);
    id_ = -1;
    pending_.reset();
}

Status Hdf5File::write_failed(const std::string& what, size_t nbytes, const std::string& message) const {
    const bool is_limited = errno == EFBIG;
    return failed(fmt::format(
        "cannot write {} to {}: {} ({} bytes wanted); {}", what, path_, reason_of(message), nbytes,
        is_limited ? "raise the limit of file sizes (ulimit -f)" : "free some space or choose another folder"));
}

Status Hdf5File::create_group(const std::string& group) {
    const Session session;
    if (id_ < 0) return internal_error("group " + group + " is created in a file that is closed");
    for (size_t end = 0; end != std::string::npos && group.size() > 1;) {
        end = group.find('/', end + 1);
        const std::string level = group.substr(0, end);
        if (H5Lexists(id_, level.c_str(), H5P_DEFAULT) > 0) continue;
        const Handle properties = without_times(H5P_GROUP_CREATE);
        const Handle created(H5Gcreate2(id_, level.c_str(), H5P_DEFAULT, properties.get(), H5P_DEFAULT));
        if (!created.ok()) return write_failed("group " + level, 0, hdf5::last_error_message());
    }
    return {};
}

Status Hdf5File::write_tensor(const std::string& group, const std::string& name, const Tensor& tensor) {
    const Session session;
    if (name.empty() || name == "." || name.find('/') != std::string::npos) {
        return bad_input(fmt::format("`{}` cannot be the name of a dataset in {}", name, group));
    }
    if (tensor.dtype == Dtype::unsupported) return bad_input(fmt::format("{} has no dtype to store it by", name));
    if (Status s = create_group(group); !s.ok()) return s;
    const Result<Tensor> source = storable(tensor);
    if (!source.ok()) return source.status();
    const Handle type = hdf5::type_of(source->dtype);
    const std::vector<hsize_t> sizes(tensor.shape.begin(), tensor.shape.end());
    const Handle space(sizes.empty() ? H5Screate(H5S_SCALAR)
                                     : H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr));
    const Handle properties = without_times(H5P_DATASET_CREATE);
    const size_t nbytes = source->nbytes();
    if (nbytes > 0 && nbytes <= kCompactBytes) H5Pset_layout(properties.get(), H5D_COMPACT);
    const std::string where = join(group, name);
    if (H5Lexists(id_, where.c_str(), H5P_DEFAULT) > 0) {
        return bad_input(fmt::format("{} is written twice to {}", where, path_));
    }
    const Handle dataset(
        H5Dcreate2(id_, where.c_str(), type.get(), space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT));
    if (!dataset.ok()) return write_failed(where, nbytes, hdf5::last_error_message());
    if (nbytes > 0 && H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, source->data()) < 0) {
        return write_failed(where, nbytes, hdf5::last_error_message());
    }
    const bool nameless = tensor.dtype == Dtype::bfloat16 || source->dtype != tensor.dtype;
    return nameless ? write_attribute(where, "dtype", diopi::name(tensor.dtype)) : Status();
}

Result<TensorPtr> Hdf5File::read_tensor(const std::string& group, const std::string& name) const {
    auto tensor = read_stored(group, name);
    const std::string object = join(group, name);
    if (!tensor.ok() || !has_attribute(object, "dtype")) return tensor;
    const Result<std::string> text = read_string(object, "dtype");
    if (!text.ok()) return text.error();
    const std::optional<Dtype> own = parse_dtype(*text);
    if (own == Dtype::bfloat16 && (*tensor)->dtype == Dtype::float32) return rounded_to_bfloat16(**tensor);
    if (!own || *own == (*tensor)->dtype || hdf5::stored_as(*own) != (*tensor)->dtype) return tensor;
    if (*own == Dtype::complex32) return converted_complex(**tensor, *own);
    (*tensor)->dtype = *own;
    return tensor;
}

Result<TensorPtr> Hdf5File::read_stored(const std::string& group, const std::string& name) const {
    const Session session;
    const std::string object = join(group, name);
    const std::string where = fmt::format("{}: {}", path_, object);
    const Handle dataset(H5Dopen2(id_, object.c_str(), H5P_DEFAULT));
    if (!dataset.ok()) return bad_input(fmt::format("{} is not a dataset", where));
    const Handle stored(H5Dget_type(dataset.get()));
    const std::optional<Dtype> dtype = hdf5::dtype_of(stored.get());
    if (!dtype) return bad_input(fmt::format("{} holds {}, which is no tensor", where, hdf5::class_of(stored.get())));
    const Handle space(H5Dget_space(dataset.get()));
    const Result<Shape> shape = shape_of(space.get(), where);
    if (!shape.ok()) return shape.error();
    if (Status s = check_backing(dataset.get(), *shape, size_of(*dtype), where); !s.ok()) return s.error();
    if (Status s = check_filters(dataset.get(), where); !s.ok()) return s.error();
    auto tensor = make_tensor(cpu_device(), {*shape, *dtype, {}});
    if (!tensor.ok()) return tensor;
    const Handle type = hdf5::type_of(*dtype);
    const bool is_empty = (*tensor)->numel() == 0;
    if (!is_empty && H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, (*tensor)->data()) < 0) {
        return bad_input(fmt::format("{} cannot be read: {}; generate the file again or copy it again", where,
                                     hdf5::last_error_message()));
    }
    if (*dtype == Dtype::boolean) {
        auto* bytes = (*tensor)->data_as<uint8_t>();
        std::for_each(bytes, bytes + (*tensor)->numel(), [](uint8_t& byte) { byte = byte != 0; });
    }
    return tensor;
}

Status Hdf5File::write_attribute(const std::string& object, const std::string& name, std::string_view value) {
    const Session session;
    const Handle type = utf8_string_type();
    const std::string text(value);
    const char* pointer = text.c_str();
    const std::string message = write_scalar_attribute(id_, object, name, type.get(), &pointer);
    if (message.empty()) return {};
    return write_failed(fmt::format("attribute `{}` of {}", name, object), text.size(), message);
}

Status Hdf5File::write_attribute(const std::string& object, const std::string& name, int64_t value) {
    const Session session;
    const std::string message = write_scalar_attribute(id_, object, name, H5T_STD_I64LE, &value);
    if (message.empty()) return {};
    return write_failed(fmt::format("attribute `{}` of {}", name, object), sizeof value, message);
}

Status Hdf5File::write_attribute(const std::string& object, const std::string& name, double value) {
    const Session session;
    const std::string message = write_scalar_attribute(id_, object, name, H5T_IEEE_F64LE, &value);
    if (message.empty()) return {};
    return write_failed(fmt::format("attribute `{}` of {}", name, object), sizeof value, message);
}

Result<std::string> Hdf5File::read_string(const std::string& object, const std::string& name) const {
    const Session session;
    const Handle attribute(H5Aopen_by_name(id_, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT));
    if (!attribute.ok()) return bad_input(fmt::format("{}: {} has no attribute `{}`", path_, object, name));
    const Handle type(H5Aget_type(attribute.get()));
    const Handle space(H5Aget_space(attribute.get()));
    if (H5Tget_class(type.get()) != H5T_STRING || H5Sget_simple_extent_npoints(space.get()) != 1) {
        return bad_input(fmt::format("{}: attribute `{}` of {} is not a string", path_, name, object));
    }
    return H5Tis_variable_str(type.get()) > 0 ? variable_string(attribute.get())
                                              : fixed_string(attribute.get(), type.get());
}

Result<int64_t> Hdf5File::read_int(const std::string& object, const std::string& name) const {
    const Session session;
    return read_number<int64_t>(id_, path_, object, name, H5T_NATIVE_INT64);
}

Result<double> Hdf5File::read_double(const std::string& object, const std::string& name) const {
    const Session session;
    return read_number<double>(id_, path_, object, name, H5T_NATIVE_DOUBLE);
}

bool Hdf5File::has(const std::string& object) const {
    const Session session;
    if (object == "/") return true;
    // H5Lexists fails when a parent is missing; that counts as a no.
    return H5Lexists(id_, object.c_str(), H5P_DEFAULT) > 0 && H5Oexists_by_name(id_, object.c_str(), H5P_DEFAULT) > 0;
}

bool Hdf5File::has_attribute(const std::string& object, const std::string& name) const {
    const Session session;
    return H5Aexists_by_name(id_, object.c_str(), name.c_str(), H5P_DEFAULT) > 0;
}

std::vector<std::string> Hdf5File::children(const std::string& group) const {
    const Session session;
    std::vector<std::string> names;
    hsize_t at = 0;
    H5Literate_by_name(id_, group.c_str(), H5_INDEX_NAME, H5_ITER_INC, &at, collect_link, &names, H5P_DEFAULT);
    return names;
}

std::vector<std::string> Hdf5File::attributes(const std::string& object) const {
    const Session session;
    std::vector<std::string> names;
    hsize_t at = 0;
    H5Aiterate_by_name(id_, object.c_str(), H5_INDEX_NAME, H5_ITER_INC, &at, collect_attribute, &names, H5P_DEFAULT);
    return names;
}

Status Hdf5File::finish() {
    const Session session;
    if (id_ < 0 || !pending_) return internal_error(path_ + " is not being written");
    hsize_t size = 0;
    H5Fget_filesize(id_, &size);
    if (H5Fflush(id_, H5F_SCOPE_LOCAL) < 0) {
        Status status = write_failed("the end of the file", size, hdf5::last_error_message());
        abandon();
        return status;
    }
    if (H5Fclose(std::exchange(id_, -1)) < 0) {
        Status status = write_failed("the end of the file", size, hdf5::last_error_message());
        pending_.reset();
        return status;
    }
    Status status = pending_->publish();
    pending_.reset();
    return status;
}

}  // namespace diopi
