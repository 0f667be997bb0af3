/// Runs every seed of every target once, without libFuzzer: `fuzz_replay CORPUS`. An input that crashed once stays in
/// the corpus.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "fuzz/targets.hpp"

namespace fs = std::filesystem;

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: fuzz_replay CORPUS\n");
        return 2;
    }
    int idle = 0;
    for (const auto& target : diopi::fuzz::kTargets) {
        bool any = false;
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(fs::path(argv[1]) / target.name, error)) {
            std::ifstream file(entry.path(), std::ios::binary);
            const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
            std::printf("%s %s\n", target.name.data(), entry.path().filename().c_str());
            std::fflush(stdout);
            any |= target.run(bytes);
        }
        if (any) continue;
        // Without a valid seed every mutation ends at the first check.
        std::fprintf(stderr, "fuzz_replay: %s/%s has no valid file\n", argv[1], target.name.data());
        ++idle;
    }
    return idle == 0 ? 0 : 1;
}
