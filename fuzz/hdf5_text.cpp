#include "fuzz/hdf5_text.hpp"

#include <hdf5.h>

#include <array>
#include <charconv>
#include <vector>

#include "file/hdf5_types.hpp"

namespace diopi::fuzz {

namespace {

using hdf5::Handle;

constexpr hssize_t kMostWritten = 4096;
constexpr hsize_t kChunk = 4;

/// Takes the text before the next separator, and the separator, from the front.
std::string next(std::string_view& text, char separator) {
    const size_t end = std::min(text.find(separator), text.size());
    std::string word(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
}

Handle string_type(size_t size) {
    Handle type(H5Tcopy(H5T_C_S1));
    H5Tset_size(type.get(), size);
    return type;
}

Handle type_of(const std::string& word) {
    if (const auto dtype = parse_dtype(word)) return hdf5::type_of(*dtype);
    if (word == "big") return Handle(H5Tcopy(H5T_IEEE_F32BE));
    if (word == "text") return string_type(4);
    if (word == "texts") return string_type(H5T_VARIABLE);
    if (word == "odd") {
        Handle type(H5Tcopy(H5T_STD_I32LE));
        H5Tset_size(type.get(), 3);
        return type;
    }
    if (word == "array") {
        const hsize_t two = 2;
        return Handle(H5Tarray_create2(H5T_IEEE_F32LE, 1, &two));
    }
    return Handle(H5Tvlen_create(H5T_STD_I8LE));
}

/// "-": scalar; "null": no element; "2x3": two dimensions.
Handle space_of(std::string word, std::vector<hsize_t>& sizes) {
    if (word == "null") return Handle(H5Screate(H5S_NULL));
    for (std::string_view rest = word; word != "-" && !rest.empty() && sizes.size() < H5S_MAX_RANK;) {
        const std::string digits = next(rest, 'x');
        hsize_t size = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), size);
        sizes.push_back(size);
    }
    if (sizes.empty()) return Handle(H5Screate(H5S_SCALAR));
    return Handle(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr));
}

/// Builds the file that a text describes, a line per object.
class Builder {
 public:
    explicit Builder(const std::string& path)
        : file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)), links_(H5Pcreate(H5P_LINK_CREATE)) {
        H5Pset_create_intermediate_group(links_.get(), 1);
    }

    void add(std::string_view line) {
        const std::string what = next(line, ' '), path = next(line, ' ');
        if (what == "group") Handle(H5Gcreate2(file_.get(), path.c_str(), links_.get(), H5P_DEFAULT, H5P_DEFAULT));
        if (what == "data") add_data(path, line);
        if (what == "attr") add_attribute(path, line);
        const std::string to(line);
        if (what == "soft") H5Lcreate_soft(to.c_str(), file_.get(), path.c_str(), links_.get(), H5P_DEFAULT);
        if (what == "hard") {
            H5Lcreate_hard(file_.get(), to.c_str(), file_.get(), path.c_str(), links_.get(), H5P_DEFAULT);
        }
        if (what == "far") {
            H5Lcreate_external(to.c_str(), "/", file_.get(), path.c_str(), links_.get(), H5P_DEFAULT);
        }
    }

 private:
    /// TYPE SIZES [chunked | packed | compact | outside]; small data sets are filled with ones.
    void add_data(const std::string& path, std::string_view rest) {
        const Handle type = type_of(next(rest, ' '));
        std::vector<hsize_t> sizes;
        const Handle space = space_of(next(rest, ' '), sizes);
        const Handle properties(H5Pcreate(H5P_DATASET_CREATE));
        const std::vector<hsize_t> chunk(sizes.size(), kChunk);
        if (rest == "chunked" || rest == "packed") {
            H5Pset_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data());
        }
        if (rest == "packed") H5Pset_deflate(properties.get(), 1);
        if (rest == "compact") H5Pset_layout(properties.get(), H5D_COMPACT);
        if (rest == "outside") H5Pset_external(properties.get(), "/dev/zero", 0, H5F_UNLIMITED);
        const Handle data(H5Dcreate2(file_.get(), path.c_str(), type.get(), space.get(), links_.get(), properties.get(),
                                     H5P_DEFAULT));
        const hssize_t count = data.ok() ? H5Sget_simple_extent_npoints(space.get()) : 0;
        const bool plain = H5Tget_class(type.get()) != H5T_VLEN && H5Tis_variable_str(type.get()) <= 0;
        if (count <= 0 || count > kMostWritten || !plain || rest == "outside") return;
        const std::vector<char> ones(static_cast<size_t>(count) * H5Tget_size(type.get()), 1);
        H5Dwrite(data.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, ones.data());
    }

    /// NAME int|real|text|texts|pair VALUE
    void add_attribute(const std::string& path, std::string_view rest) {
        const std::string name = next(rest, ' '), kind = next(rest, ' '), value(rest);
        int64_t whole = 0;
        std::from_chars(value.data(), value.data() + value.size(), whole);
        const std::array<int64_t, 2> pair = {whole, whole};
        const auto real = static_cast<double>(whole);
        const char* pointer = value.c_str();
        const hsize_t two = 2;
        const Handle space(kind == "pair" ? H5Screate_simple(1, &two, nullptr) : H5Screate(H5S_SCALAR));
        if (kind == "real") return write_attribute(path, name, Handle(H5Tcopy(H5T_IEEE_F64LE)), space, &real);
        if (kind == "texts") return write_attribute(path, name, string_type(H5T_VARIABLE), space, &pointer);
        if (kind == "text" && !value.empty()) {
            return write_attribute(path, name, string_type(value.size()), space, value.data());
        }
        write_attribute(path, name, Handle(H5Tcopy(H5T_STD_I64LE)), space, pair.data());
    }

    void write_attribute(const std::string& path, const std::string& name, const Handle& type, const Handle& space,
                         const void* value) {
        const Handle attribute(H5Acreate_by_name(file_.get(), path.c_str(), name.c_str(), type.get(), space.get(),
                                                 H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        if (attribute.ok()) H5Awrite(attribute.get(), type.get(), value);
    }

    Handle file_;
    Handle links_;
};

}  // namespace

void build_hdf5(const std::string& path, std::string_view text) {
    Builder builder(path);
    while (!text.empty()) builder.add(next(text, '\n'));
}

}  // namespace diopi::fuzz
