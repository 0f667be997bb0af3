#include "worker/last_words.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "worker/printable.hpp"

namespace diopi {

namespace {

constexpr size_t kMostWords = 120;

}  // namespace

struct LastWords::Page {
    std::atomic<size_t> length;
    char text[kMostWords];
    std::atomic<bool> out_of_memory, lost_socket, begun;
};

namespace {

/// The page of this process when it is a worker.
std::atomic<LastWords::Page*> g_page = nullptr;

}  // namespace

void say(std::string_view words) noexcept {
    LastWords::Page* page = g_page.load(std::memory_order_relaxed);
    if (page == nullptr) return;
    const size_t length = std::min(words.size(), kMostWords);
    page->length.store(0, std::memory_order_release);
    std::memcpy(page->text, words.data(), length);
    page->length.store(length, std::memory_order_release);
}

LastWords::~LastWords() {
    if (page_ != nullptr) ::munmap(page_, sizeof(Page));
}

LastWords::LastWords(LastWords&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}

LastWords& LastWords::operator=(LastWords&& other) noexcept {
    std::swap(page_, other.page_);
    return *this;
}

Result<LastWords> LastWords::create() {
    void* memory = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return failed(std::string("cannot map a page for a worker: ") + std::strerror(errno) +
                      "; run fewer at a time (--jobs 1) or free memory");
    }
    return LastWords(new (memory) Page{});
}

void LastWords::adopt() const { g_page.store(page_, std::memory_order_relaxed); }

void LastWords::begin() {
    page_->length.store(0, std::memory_order_release);
    page_->out_of_memory = false;
    page_->begun = false;
}

std::string LastWords::read() const {
    const size_t length = std::min(page_->length.load(std::memory_order_acquire), kMostWords);
    return printable({page_->text, length}, kMostWords);
}

void LastWords::note_out_of_memory() noexcept {
    if (LastWords::Page* page = g_page.load(std::memory_order_relaxed)) page->out_of_memory = true;
}

void LastWords::note_lost_socket() noexcept {
    if (LastWords::Page* page = g_page.load(std::memory_order_relaxed)) page->lost_socket = true;
}

void LastWords::note_begun() noexcept {
    if (LastWords::Page* page = g_page.load(std::memory_order_relaxed)) page->begun = true;
}

bool LastWords::out_of_memory() const { return page_->out_of_memory; }
bool LastWords::lost_socket() const { return page_->lost_socket; }
bool LastWords::begun() const { return page_->begun; }

}  // namespace diopi
