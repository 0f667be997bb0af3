#include "report/profile_table.hpp"

#include <catch2/catch.hpp>
#include <sstream>

#include "report/terminal.hpp"

using namespace diopi;

namespace {

ProfiledCall call_of(const std::string& name, double seconds, int64_t parent = -1) {
    ProfiledCall call;
    call.name = name;
    call.case_id = "ops/mine." + name;
    call.parent = parent;
    call.shapes = {{1024, 1024}, {1024}};
    for (int i = 0; i < 20; ++i) call.runs.push_back({0.001 * i, seconds, seconds / 2, i / 4, 0.001 * i});
    return call;
}

/// A layer of 10 ms with two calls of 4 ms and 1 ms inside, and a call beside it.
Profile nested() {
    Profile profile;
    profile.backend = "cpu";
    profile.calls = {call_of("layer", 0.010), call_of("conv2d", 0.004, 0), call_of("add", 0.001, 0),
                     call_of("add", 0.002)};
    profile.calls[2].shapes = {{8}};
    profile.calls[1].allocated = 300;
    profile.calls[1].freed = 100;
    profile.calls[0].allocated = 500;
    profile.calls[0].freed = 100;
    return profile;
}

/// A step of 20 ms: a.b with 4 and 3 ms, a with 2 ms, c.b with 6 ms, and a call of 1 ms in no layer.
Profile layered() {
    Profile profile;
    profile.backend = "cpu";
    profile.calls = {call_of("model step", 0.020)};
    const std::pair<const char*, double> calls[] = {
        {"a.b", 0.004}, {"a", 0.002}, {"c.b", 0.006}, {"", 0.001}, {"a.b", 0.003}};
    for (const auto& [layer, seconds] : calls) {
        profile.calls.push_back(call_of("add", seconds, 0));
        profile.calls.back().function = "diopiAdd";
        profile.calls.back().layer = layer;
        profile.calls.back().allocated = 10;
    }
    return profile;
}

/// "0 model step, 1 a, 2 a.b"
std::string outline(const std::vector<ProfileRow>& rows) {
    std::string text;
    for (const ProfileRow& row : rows) text += (text.empty() ? "" : ", ") + std::to_string(row.depth) + " " + row.name;
    return text;
}

const ProfileRow& row_of(const std::vector<ProfileRow>& rows, const std::string& name) {
    const auto found = std::ranges::find(rows, name, &ProfileRow::name);
    REQUIRE(found != rows.end());
    return *found;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// Comparisons of nested()'s two adds.
std::vector<std::optional<SpeedComparison>> slower_and_faster() {
    std::vector<std::optional<SpeedComparison>> comparisons(4);
    comparisons[2] = SpeedComparison{{1.3, 1.2, 1.4}, 0.01, 0, SpeedVerdict::kSlower};
    comparisons[3] = SpeedComparison{{0.5, 0.4, 0.6}, 0.01, 0, SpeedVerdict::kFaster};
    return comparisons;
}

}  // namespace

TEST_CASE("a row's own time is without the calls inside, and the sum of all is the whole time") {
    const auto rows = profile_rows(nested(), ProfileGrouping::kName);
    REQUIRE(rows.size() == 3);
    CHECK(row_of(rows, "layer").self_cpu == Approx(0.005));
    CHECK(row_of(rows, "layer").total_cpu == Approx(0.010));
    CHECK(row_of(rows, "add").calls == 2);
    CHECK(row_of(rows, "add").self_cpu == Approx(0.003));
    double whole = 0;
    for (const ProfileRow& row : rows) whole += row.self_cpu;
    CHECK(whole == Approx(0.012));
    CHECK(row_of(rows, "layer").total_memory == 400);
    CHECK(row_of(rows, "layer").self_memory == 200);
    CHECK(row_of(rows, "conv2d").self_memory == 200);
}

TEST_CASE("device time of nested rows counts once") {
    Profile profile = nested();
    profile.has_device_time = true;
    const auto rows = profile_rows(profile, ProfileGrouping::kName);
    double whole = 0;
    for (const ProfileRow& row : rows) whole += row.self_device;
    CHECK(whole == Approx(0.006));
    CHECK(row_of(rows, "layer").total_device == Approx(0.005));
    CHECK(row_of(rows, "layer").self_device == Approx(0.0025));
    // An operator inside one with its own name: the outer total already includes the inner call.
    profile.calls[2].name = "layer";
    CHECK(row_of(profile_rows(profile, ProfileGrouping::kName), "layer").total_device == Approx(0.005));
}

TEST_CASE("calls are grouped by name, by shape, or not at all") {
    CHECK(profile_rows(nested(), ProfileGrouping::kName).size() == 3);
    CHECK(profile_rows(nested(), ProfileGrouping::kShape).size() == 4);
    Profile twice = nested();
    twice.calls.push_back(twice.calls.back());
    CHECK(profile_rows(twice, ProfileGrouping::kShape).size() == 4);
    CHECK(profile_rows(twice, ProfileGrouping::kCall).size() == 5);
    twice.calls.back().error = "refused";
    CHECK(profile_rows(twice, ProfileGrouping::kCall).size() == 4);
}

TEST_CASE("a row has its rate and its share of the roof, or shows that there is none") {
    Profile profile;
    profile.calls = {call_of("matmul", 0.001), call_of("tiny", 1e-6), call_of("wrong", 0.001)};
    profile.roofs.copies = {{1024, 1e10}};
    profile.roofs.matmul = {{Dtype::float32, 4e9}};
    profile.roofs.empty_call = 1e-6;
    profile.calls[0].flops = 1e6;
    profile.calls[0].bytes = 1e6;
    profile.calls[1].bytes = 100;
    profile.calls[2].bytes = 1.06e7;
    const auto rows = profile_rows(profile, ProfileGrouping::kName);
    CHECK(row_of(rows, "matmul").share_of_roof() == Approx(0.25));
    CHECK_FALSE(row_of(rows, "matmul").launch_bound);
    CHECK_FALSE(row_of(rows, "matmul").invalid);
    CHECK(row_of(rows, "tiny").launch_bound);
    CHECK(row_of(rows, "wrong").invalid);
    profile.calls[2].bytes = 1.04e7;
    CHECK_FALSE(row_of(profile_rows(profile, ProfileGrouping::kName), "wrong").invalid);
    const std::string footer = profile_footer(profile, rows);
    CHECK(footer.find("INVALID: above 105% of the roof") != std::string::npos);
    CHECK(footer.find("matmul 4.0 GFLOP/s float32") != std::string::npos);
}

TEST_CASE("rows are sorted by a key, the largest first, an unknown key is refused") {
    auto rows = profile_rows(nested(), ProfileGrouping::kName);
    REQUIRE(sort_profile_rows(rows, "self_cpu_time_total").ok());
    CHECK(rows.front().name == "layer");
    CHECK(rows.back().name == "add");
    REQUIRE(sort_profile_rows(rows, "count").ok());
    CHECK(rows.front().name == "add");
    REQUIRE(sort_profile_rows(rows, "name").ok());
    CHECK(rows.back().name == "layer");
    const Status s = sort_profile_rows(rows, "cpu_tim");
    REQUIRE_FALSE(s.ok());
    CHECK(s.message().find("did you mean 'cpu_time'") != std::string::npos);
}

TEST_CASE("the table is legible at 80 and at 200 columns") {
    const Profile profile = nested();
    const auto rows = profile_rows(profile, ProfileGrouping::kShape);
    ProfileTableOptions options;
    options.shapes = true;
    options.memory = true;
    for (const int width : {80, 120, 200, 300}) {
        for (const std::string& line : lines_of(profile_table(profile, rows, options, width, false))) {
            CHECK(display_width(line) <= width);
        }
    }
    options.memory = false;
    const auto wide = lines_of(profile_table(profile, rows, options, 200, false));
    CHECK(wide[0] == wide[2]);
    CHECK(wide[0] == wide.back());
    for (const char* title : {"Name", "    Self CPU %", "CPU total", "# of Calls", "Input Shapes"}) {
        CHECK(wide[1].find(title) != std::string::npos);
    }
    CHECK(wide[3].find("[[1024, 1024], [1024]]") != std::string::npos);
    const std::string narrow = profile_table(profile, rows, options, 80, false);
    CHECK(narrow.find("CPU total") != std::string::npos);
    CHECK(narrow.find("Left out because of the width: ") != std::string::npos);
}

TEST_CASE("rows beyond the limit are counted, device columns have the device's name") {
    Profile profile = nested();
    auto rows = profile_rows(profile, ProfileGrouping::kName);
    ProfileTableOptions options;
    options.row_limit = 1;
    CHECK(profile_table(profile, rows, options, 200, false).find("2 more rows") != std::string::npos);
    CHECK(profile_table(profile, rows, options, 200, false).find("CUDA") == std::string::npos);
    profile.has_device_time = true;
    profile.device_kind = "CUDA";
    rows = profile_rows(profile, ProfileGrouping::kName);
    CHECK(profile_table(profile, rows, options, 300, false).find("Self CUDA %") != std::string::npos);
    CHECK(profile_footer(profile, rows).find("Self CUDA time total: 6.000ms") != std::string::npos);
}

TEST_CASE("a row has the worst verdict of its calls") {
    const Profile profile = nested();
    const auto comparisons = slower_and_faster();
    const auto rows = profile_rows(profile, ProfileGrouping::kName, comparisons);
    REQUIRE(row_of(rows, "add").comparison != nullptr);
    CHECK(row_of(rows, "add").comparison->verdict == SpeedVerdict::kSlower);
    const std::string text = profile_table(profile, rows, {}, 200, false);
    CHECK(text.find("SLOWER") != std::string::npos);
    CHECK(text.find("1.200..1.400") != std::string::npos);
    CHECK(text.find("new") != std::string::npos);
}

TEST_CASE("a row of several calls has the ratio of their times") {
    const Profile profile = nested();
    auto comparisons = slower_and_faster();
    const auto plain = profile_rows(profile, ProfileGrouping::kName, comparisons);
    const double time = row_of(plain, "add").time;
    comparisons[2]->base = comparisons[3]->base = time;
    const auto rows = profile_rows(profile, ProfileGrouping::kName, comparisons);
    CHECK(row_of(rows, "add").ratio() == Approx(0.5));
    const std::string text = profile_table(profile, rows, {}, 200, false);
    CHECK(text.find("0.500") != std::string::npos);
    CHECK(text.find("1.200..1.400") == std::string::npos);
}

TEST_CASE("a row has the earliest stop of its calls") {
    Profile profile = nested();
    profile.calls[1].stop = "converged";
    profile.calls[2].stop = "noise plateau";
    profile.calls[3].stop = "time limit";
    const auto rows = profile_rows(profile, ProfileGrouping::kName);
    CHECK(row_of(rows, "layer").stop.empty());
    CHECK(row_of(rows, "conv2d").stop == "converged");
    CHECK(row_of(rows, "add").stop == "time limit");
    ProfileTableOptions options;
    CHECK(profile_table(profile, rows, options, 200, false).find("time limit") == std::string::npos);
    options.stops = true;
    CHECK(profile_table(profile, rows, options, 200, false).find(" time limit ") != std::string::npos);
}

TEST_CASE("layers are a tree of rows, and the sum of their own times is the whole") {
    const auto rows = profile_rows(layered(), ProfileGrouping::kLayer);
    CHECK(outline(rows) == "0 model step, 1 a, 2 a.b, 1 c, 2 c.b, 1 (no layer)");
    CHECK(row_of(rows, "model step").total_cpu == Approx(0.020));
    CHECK(row_of(rows, "model step").self_cpu == Approx(0.004));
    CHECK(row_of(rows, "model step").calls == 5);
    CHECK(row_of(rows, "a").total_cpu == Approx(0.009));
    CHECK(row_of(rows, "a").self_cpu == Approx(0.002));
    CHECK(row_of(rows, "a").calls == 3);
    CHECK(row_of(rows, "a.b").total_cpu == Approx(0.007));
    CHECK(row_of(rows, "a.b").self_cpu == Approx(0.007));
    CHECK(row_of(rows, "c").self_cpu == 0);
    CHECK(row_of(rows, "c").total_cpu == Approx(0.006));
    CHECK(row_of(rows, "(no layer)").total_cpu == Approx(0.001));
    CHECK(row_of(rows, "a").allocated == 30);
    CHECK(row_of(rows, "a").total_memory == 30);
    CHECK(row_of(rows, "a").self_memory == 10);
    double whole = 0;
    for (const ProfileRow& row : rows) whole += row.self_cpu;
    CHECK(whole == Approx(0.020));
}

TEST_CASE("device time of layers counts once, and shares are those of all calls inside") {
    Profile profile = layered();
    profile.has_device_time = true;
    for (TimedRun& run : profile.calls[0].runs) run.device = 0;
    profile.roofs.copies = {{1000, 1e9}, {10'000'000, 1e9}};
    for (size_t i = 1; i < profile.calls.size(); ++i) profile.calls[i].bytes = 1e5;
    const auto rows = profile_rows(profile, ProfileGrouping::kLayer);
    double whole = 0;
    for (const ProfileRow& row : rows) whole += row.self_device;
    CHECK(whole == Approx(0.008));
    CHECK(row_of(rows, "a").total_device == Approx(0.0045));
    CHECK(row_of(rows, "a").self_device == Approx(0.001));
    CHECK(row_of(rows, "a").bytes == 3e5);
    CHECK(row_of(rows, "a").share_of_roof() == Approx(3e-4 / 0.0045));
}

TEST_CASE("layers are sorted within their parent, and the limit keeps the largest") {
    Profile profile = layered();
    auto rows = profile_rows(profile, ProfileGrouping::kLayer);
    REQUIRE(sort_profile_rows(rows, "self_cpu_time_total").ok());
    CHECK(outline(rows) == "0 model step, 1 a, 2 a.b, 1 (no layer), 1 c, 2 c.b");
    REQUIRE(sort_profile_rows(rows, "cpu_time_total").ok());
    CHECK(outline(rows) == "0 model step, 1 a, 2 a.b, 1 c, 2 c.b, 1 (no layer)");
    ProfileTableOptions options;
    options.row_limit = 4;
    const std::string text = profile_table(profile, rows, options, 200, false);
    CHECK(text.find("\nmodel step ") != std::string::npos);
    CHECK(text.find("\n  a ") != std::string::npos);
    CHECK(text.find("\n    a.b ") != std::string::npos);
    CHECK(text.find("\n  c ") != std::string::npos);
    CHECK(text.find("c.b") == std::string::npos);
    CHECK(text.find("2 more rows") != std::string::npos);
}

TEST_CASE("a layer's verdict is the worst of the calls inside, and a failed call is in none") {
    Profile profile = layered();
    std::vector<std::optional<SpeedComparison>> comparisons(6);
    comparisons[1] = SpeedComparison{{1.3, 1.2, 1.4}, 0.01, 0, SpeedVerdict::kSlower};
    comparisons[2] = SpeedComparison{{0.5, 0.4, 0.6}, 0.01, 0, SpeedVerdict::kFaster};
    profile.calls[3].error = "refused";
    const auto rows = profile_rows(profile, ProfileGrouping::kLayer, comparisons);
    CHECK(row_of(rows, "a").comparison->verdict == SpeedVerdict::kSlower);
    CHECK(row_of(rows, "(no layer)").comparison == nullptr);
    CHECK(outline(rows) == "0 model step, 1 a, 2 a.b, 1 (no layer)");
}
