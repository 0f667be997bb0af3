#include "state/resource_use.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <system_error>

namespace diopi {

namespace {

constexpr std::array<std::string_view, kResources> kNames = {"a thread", "a child process", "an open descriptor",
                                                             "mapped memory", "a file in a folder for temporary files"};

int64_t entries_of(const char* folder) {
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir(folder), closedir);
    int64_t entries = 0;
    while (stream != nullptr && readdir(stream.get()) != nullptr) ++entries;
    return entries;
}

/// A folder of processes has a link for each of them.
int64_t count_threads() {
    struct stat info = {};
    return stat("/proc/self/task", &info) == 0 ? static_cast<int64_t>(info.st_nlink) : 0;
}

int64_t count_children() {
    siginfo_t info = {};
    // No child at all is the rule, and quick to see; this waits for nobody and takes nobody's status.
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return 0;
    int64_t children = 0;
    std::error_code error;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
        std::ifstream list(task.path() / "children");
        for (pid_t child = 0; list >> child;) ++children;
    }
    return children;
}

int64_t mapped_pages() {
    std::ifstream file("/proc/self/statm");
    int64_t pages = 0;
    file >> pages;
    return pages;
}

/// Entries of a folder, counted again only if it changed.
int64_t files_in(const std::string& folder) {
    struct Seen {
        timespec changed = {};
        int64_t entries = 0;
    };
    static std::map<std::string, Seen> known;
    struct stat info = {};
    if (stat(folder.c_str(), &info) != 0) return 0;
    Seen& seen = known[folder];
    if (seen.changed.tv_sec != info.st_mtim.tv_sec || seen.changed.tv_nsec != info.st_mtim.tv_nsec) {
        seen = {info.st_mtim, entries_of(folder.c_str())};
    }
    return seen.entries;
}

int64_t count_files() {
    const char* own = std::getenv("TMPDIR");
    int64_t files = files_in("/tmp") + files_in("/dev/shm");
    if (own != nullptr && std::string_view(own) != "/tmp" && std::string_view(own) != "/dev/shm")
        files += files_in(own);
    return files;
}

}  // namespace

std::string_view name(Resource resource) { return kNames[static_cast<size_t>(resource)]; }

ResourceUse ResourceUse::now() {
    ResourceUse use;
    use.counts_ = {count_threads(), count_children(), entries_of("/proc/self/fd"), mapped_pages(), count_files()};
    return use;
}

}  // namespace diopi
