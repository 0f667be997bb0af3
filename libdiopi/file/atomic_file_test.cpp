#include "file/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>

#include "file/test_folder.hpp"

namespace diopi {

namespace {

using testing::FullDisk;
using testing::names_in;
using testing::TestFolder;
using Names = std::vector<std::string>;

constexpr PendingFile::Name kBoth[] = {PendingFile::Name::kNoneIfPossible, PendingFile::Name::kPart};

/// Whether the file system of the folder has files without a name.
bool has_nameless_files(const std::string& folder) {
    const int fd = ::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (fd >= 0) ::close(fd);
    return fd >= 0;
}

/// A child that writes the file and is killed before it publishes it.
void write_and_be_killed(const std::string& path, PendingFile::Name name) {
    const pid_t child = fork();
    if (child == 0) {
        auto file = PendingFile::create(path, name);
        if (file.ok()) (void)write_all(file->fd(), "half", path);
        ::raise(SIGKILL);
    }
    ::waitpid(child, nullptr, 0);
}

}  // namespace

TEST_CASE("a pending file appears whole or not at all", "[store][atomic]") {
    for (const PendingFile::Name name : kBoth) {
        const TestFolder folder;
        REQUIRE(write_file_atomically(folder / "x", "former").ok());
        auto file = PendingFile::create(folder / "x", name);
        REQUIRE(file.ok());
        REQUIRE(write_all(file->fd(), "new", folder / "x").ok());
        CHECK(*read_text_file(file->open_path()) == "new");
        CHECK(*read_text_file(folder / "x") == "former");
        REQUIRE(file->publish().ok());
        CHECK(*read_text_file(folder / "x") == "new");
        CHECK(names_in(folder.path()) == Names{"x"});
    }
}

TEST_CASE("an abandoned pending file leaves nothing", "[store][atomic]") {
    for (const PendingFile::Name name : kBoth) {
        const TestFolder folder;
        CHECK(PendingFile::create(folder / "x", name).ok());
        CHECK(names_in(folder.path()).empty());
    }
}

TEST_CASE("a killed process leaves no pending file", "[store][atomic]") {
    const TestFolder folder;
    write_and_be_killed(folder / "x", PendingFile::Name::kPart);
    CHECK(names_in(folder.path()) == Names{"x.part"});
    // A part file that was left behind does no harm.
    REQUIRE(write_file_atomically(folder / "x", "a").ok());
    REQUIRE(write_file_atomically(folder / "x", "b").ok());
    CHECK(names_in(folder.path()) == Names{"x"});
    if (!has_nameless_files(folder.path())) return;
    write_and_be_killed(folder / "y", PendingFile::Name::kNoneIfPossible);
    CHECK(names_in(folder.path()) == Names{"x"});
}

TEST_CASE("a full disk keeps the former file and names the new one", "[store][atomic]") {
    const TestFolder folder;
    REQUIRE(write_file_atomically(folder / "x", "former").ok());
    Status status;
    {
        const FullDisk full(100);
        status = write_file_atomically(folder / "x", std::string(1000, 'n'));
    }
    CHECK(status.message() == "cannot write 1000 bytes to " + (folder / "x") +
                                  ": File too large; raise the limit of file sizes (ulimit -f)");
    CHECK(*read_text_file(folder / "x") == "former");
    CHECK(names_in(folder.path()) == Names{"x"});
}

TEST_CASE("a folder in the place of a file is an error that leaves nothing", "[store][atomic]") {
    for (const PendingFile::Name name : kBoth) {
        const TestFolder folder;
        std::filesystem::create_directory(folder / "x");
        auto file = PendingFile::create(folder / "x", name);
        REQUIRE(file.ok());
        CHECK_FALSE(file->publish().ok());
        CHECK(names_in(folder.path()) == Names{"x"});
    }
}

TEST_CASE("a pipe in the place of a file stays what it is", "[store][atomic]") {
    const TestFolder folder;
    const std::string path = folder / "pipe";
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    for (const auto name : kBoth) {
        const auto file = PendingFile::create(path, name);
        REQUIRE_FALSE(file.ok());
        CHECK_THAT(file.error().message, Catch::Matchers::Contains("device or a pipe"));
    }
    CHECK(std::filesystem::is_fifo(path));
}

TEST_CASE("the error names a missing folder", "[store][atomic]") {
    CHECK_THAT(PendingFile::create("/nowhere/x").error().message,
               Catch::Contains("cannot create /nowhere/x: No such file or directory"));
}

}  // namespace diopi
