#include "profile_data/profile_file.hpp"

#include <catch2/catch.hpp>

#include "file/hdf5_file.hpp"
#include "file/test_folder.hpp"
#include "profile_data/profile_json.hpp"

using namespace diopi;

namespace {

Profile sample_profile() {
    Profile profile;
    profile.backend = "cpu";
    profile.mode = "cold";
    profile.seed = 7;
    profile.roofs.copies = {{1024, 5e9}, {1 << 20, 1.5e10}};
    profile.roofs.matmul = {{Dtype::float16, 1e9}};
    profile.roofs.empty_call = 1.25e-7;
    profile.roofs.cache_bytes = 32 << 20;
    profile.pace = {0.0011, 0.0012};
    profile.quietest = 3e-5;
    ProfiledCall& add = profile.calls.emplace_back();
    add.name = "add";
    add.function = "diopiAdd";
    add.overload = "add.Tensor";
    add.phase = "forward";
    add.layer = "layer1.0";
    add.forward_id = 4;
    add.number = 9;
    add.shapes = {{2, 3}, {}};
    add.dtype = Dtype::bfloat16;
    add.runs = {{0.5, 1e-3, 0, 0, 0, 1.25}, {0.6, 1.5e-3, 2e-3, 1, 0.7, 1}};
    add.batch = 3;
    add.warmup = 5;
    add.parallel = true;
    add.stop = "noise plateau";
    add.allocated = 128;
    add.freed = 64;
    add.flops = 12;
    add.bytes = 36;
    ProfiledCall& broken = profile.calls.emplace_back();
    broken.case_id = "ops/x.y.0";
    broken.parent = 0;
    broken.error = "it refused";
    return profile;
}

std::string refused_profile(const std::string& path) {
    const auto read = read_profile(path);
    REQUIRE_FALSE(read.ok());
    return read.error().message;
}

}  // namespace

TEST_CASE("a profile comes back from its file unchanged") {
    const testing::TestFolder folder;
    const std::string path = profile_path(folder / "run");
    const Profile profile = sample_profile();
    REQUIRE(write_profile(path, profile).ok());
    const auto read = read_profile(path);
    REQUIRE(read.ok());
    CHECK(read->mode == "cold");
    CHECK(read->seed == 7);
    CHECK(read->pace == profile.pace);
    CHECK(read->quietest == 3e-5);
    REQUIRE(read->roofs.copies.size() == 2);
    CHECK(read->roofs.copies[1].rate == 1.5e10);
    CHECK(read->roofs.matmul[0].dtype == Dtype::float16);
    CHECK(read->roofs.empty_call == 1.25e-7);
    REQUIRE(read->calls.size() == 2);
    const ProfiledCall &before = profile.calls[0], &after = read->calls[0];
    CHECK(after.runs == before.runs);
    CHECK(after.function == before.function);
    CHECK(after.overload == before.overload);
    CHECK(after.layer == before.layer);
    CHECK(after.forward_id == before.forward_id);
    CHECK(after.shapes == before.shapes);
    CHECK(after.dtype == before.dtype);
    CHECK(after.batch == 3);
    CHECK(after.stop == before.stop);
    CHECK(after.freed == 64);
    CHECK(after.bytes == 36);
    CHECK(read->calls[1].error == "it refused");
    CHECK(read->calls[1].parent == 0);
    CHECK_FALSE(read->calls[1].forward_id);
}

TEST_CASE("a profile of an older program has the error of a call under another key") {
    std::string text = profile_text(sample_profile());
    const size_t key = text.find("\"error\":\"it refused\"");
    REQUIRE(key != std::string::npos);
    text.replace(key, 7, "\"trouble\"");
    SamplePlaces places;
    CHECK(profile_from_text(text, places).calls[1].error == "it refused");
}

TEST_CASE("a file that is no profile, or not there, is refused with what to try") {
    const testing::TestFolder folder;
    CHECK(refused_profile(profile_path(folder / "none")).find("profile.h5") != std::string::npos);
    const std::string foreign = folder / "foreign.h5";
    auto file = Hdf5File::create(foreign);
    REQUIRE(file.ok());
    REQUIRE(file->finish().ok());
    CHECK(refused_profile(foreign).find("is no profile") != std::string::npos);
    const std::string newer = folder / "newer.h5";
    auto next = Hdf5File::create(newer);
    REQUIRE(next.ok());
    REQUIRE(next->write_attribute("/", "diopi_profile", int64_t{99}).ok());
    REQUIRE(next->finish().ok());
    CHECK(refused_profile(newer).find("use a newer diopi") != std::string::npos);
}

TEST_CASE("a profile comes through a pipe unchanged, or is refused") {
    const Profile profile = sample_profile();
    const std::string bytes = pack_profile(profile);
    const auto read = unpack_profile(bytes);
    REQUIRE(read.ok());
    CHECK(read->calls[0].runs == profile.calls[0].runs);
    CHECK(profile_text(*read) == profile_text(profile));
    for (const size_t size : {size_t{0}, size_t{5}, size_t{20}, bytes.size() - 1}) {
        CHECK_FALSE(unpack_profile(std::string_view(bytes).substr(0, size)).ok());
    }
    Profile other;
    for (int length = 0; length < 256; ++length) {
        other.backend.push_back('x');
        CHECK(pack_profile(other).front() == 'p');
    }
}
