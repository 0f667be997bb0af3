#include "profile_data/profile_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <exception>
#include <utility>

#include "file/hdf5_file.hpp"
#include "profile_data/profile_json.hpp"
#include "runtime/device.hpp"

namespace diopi {

namespace {

constexpr int64_t kProfileFormat = 1;
constexpr const char* kFormatAttribute = "diopi_profile";

/// The columns of /samples, besides `pass`.
constexpr std::array<std::pair<const char*, double TimedRun::*>, 5> kColumns = {
    {{"start", &TimedRun::start},
     {"cpu", &TimedRun::cpu},
     {"device_start", &TimedRun::device_start},
     {"device", &TimedRun::device},
     {"crowding", &TimedRun::crowding}}};
/// The number of columns that every file has.
constexpr size_t kOldColumns = 4;

/// A dataset of one dim.
template <class T>
Status write_column(Hdf5File& file, const std::string& group, const char* name, Dtype dtype,
                    const std::vector<T>& values) {
    auto tensor = make_tensor(cpu_device(), {{static_cast<int64_t>(values.size())}, dtype, {}});
    if (!tensor.ok()) return tensor.status();
    if (!values.empty()) std::memcpy((*tensor)->data(), values.data(), values.size() * sizeof(T));
    return file.write_tensor(group, name, **tensor);
}

template <class T>
Result<std::vector<T>> read_column(const Hdf5File& file, const std::string& group, const char* name, Dtype dtype) {
    auto tensor = file.read_tensor(group, name);
    if (!tensor.ok()) return tensor.error();
    if ((*tensor)->dtype != dtype || (*tensor)->rank() != 1) {
        return bad_input(fmt::format("{}: {}/{} is no column of {}; measure again with diopi profile", file.path(),
                                     group, name, diopi::name(dtype)));
    }
    const auto* first = (*tensor)->data_as<T>();
    return std::vector<T>(first, first + (*tensor)->numel());
}

Status write_samples(Hdf5File& file, const Profile& profile) {
    std::vector<int64_t> passes;
    std::array<std::vector<double>, kColumns.size()> columns;
    for (const ProfiledCall& call : profile.calls) {
        for (const TimedRun& run : call.runs) {
            passes.push_back(run.pass);
            for (size_t c = 0; c < kColumns.size(); ++c) columns[c].push_back(run.*kColumns[c].second);
        }
    }
    for (size_t c = 0; c < kColumns.size(); ++c) {
        Status s = write_column(file, "/samples", kColumns[c].first, Dtype::float64, columns[c]);
        if (!s.ok()) return s;
    }
    return write_column(file, "/samples", "pass", Dtype::int64, passes);
}

Error damaged(const std::string& path, const std::string& what) {
    return bad_input(fmt::format("{} is damaged: {}; measure again with diopi profile", path, what));
}

Status read_samples(const Hdf5File& file, const SamplePlaces& places, Profile& profile) {
    const auto passes = read_column<int64_t>(file, "/samples", "pass", Dtype::int64);
    if (!passes.ok()) return passes.status();
    std::array<std::vector<double>, kColumns.size()> columns;
    for (size_t c = 0; c < kColumns.size(); ++c) {
        if (c >= kOldColumns && !file.has(std::string("/samples/") + kColumns[c].first)) {
            columns[c].resize(passes->size());
            continue;
        }
        auto column = read_column<double>(file, "/samples", kColumns[c].first, Dtype::float64);
        if (!column.ok()) return column.status();
        if (column->size() != passes->size()) return damaged(file.path(), "its columns differ in length");
        columns[c] = std::move(*column);
    }
    for (size_t i = 0; i < profile.calls.size(); ++i) {
        const auto [first, count] = places[i];
        if (first > passes->size() || count > passes->size() - first) {
            return damaged(file.path(), "a call has more samples than there are");
        }
        for (size_t k = first; k < first + count; ++k) {
            TimedRun& run = profile.calls[i].runs.emplace_back();
            run.pass = (*passes)[k];
            for (size_t c = 0; c < kColumns.size(); ++c) run.*kColumns[c].second = columns[c][k];
        }
    }
    return {};
}

}  // namespace

std::string profile_path(const std::string& folder) { return folder + "/profile.h5"; }

Status write_profile(const std::string& path, const Profile& profile) {
    auto file = Hdf5File::create(path);
    if (!file.ok()) return file.status();
    if (Status s = file->write_attribute("/", kFormatAttribute, kProfileFormat); !s.ok()) return s;
    const std::string text = profile_text(profile);
    const std::vector<uint8_t> bytes(text.begin(), text.end());
    if (Status s = write_column(*file, "/", "profile", Dtype::uint8, bytes); !s.ok()) return s;
    if (Status s = write_samples(*file, profile); !s.ok()) return s;
    return file->finish();
}

Result<Profile> read_profile(const std::string& path) {
    auto file = Hdf5File::open(path);
    if (!file.ok()) return file.error();
    if (!file->has_attribute("/", kFormatAttribute)) {
        return bad_input(path +
                         " is no profile: its root has no attribute diopi_profile; name the folder of a run of "
                         "diopi profile");
    }
    const auto format = file->read_int("/", kFormatAttribute);
    if (!format.ok()) return format.error();
    if (*format > kProfileFormat) {
        return bad_input(fmt::format("{} is a profile of format {}, this program reads up to {}; use a newer diopi",
                                     path, *format, kProfileFormat));
    }
    const auto bytes = read_column<uint8_t>(*file, "/", "profile", Dtype::uint8);
    if (!bytes.ok()) return bytes.error();
    try {
        SamplePlaces places;
        const auto* text = reinterpret_cast<const char*>(bytes->data());
        Profile profile = profile_from_text({text, bytes->size()}, places);
        if (Status s = read_samples(*file, places, profile); !s.ok()) return s.error();
        return profile;
    } catch (const std::exception& e) {
        return damaged(path, e.what());
    }
}

}  // namespace diopi
