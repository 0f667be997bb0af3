#include "worker/crash_context.hpp"

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

constexpr size_t kMostCharacters = 120;

}  // namespace

struct CrashContext::Page {
    std::atomic<size_t> length;
    char text[kMostCharacters];
    std::atomic<bool> out_of_memory, lost_socket, begun;
};

namespace {

/// The page of this process when it is a worker.
std::atomic<CrashContext::Page*> g_page = nullptr;

}  // namespace

void set_crash_context(std::string_view context) noexcept {
    CrashContext::Page* page = g_page.load(std::memory_order_relaxed);
    if (page == nullptr) return;
    const size_t length = std::min(context.size(), kMostCharacters);
    page->length.store(0, std::memory_order_release);
    std::memcpy(page->text, context.data(), length);
    page->length.store(length, std::memory_order_release);
}

CrashContext::~CrashContext() {
    if (page_ != nullptr) ::munmap(page_, sizeof(Page));
}

CrashContext::CrashContext(CrashContext&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}

CrashContext& CrashContext::operator=(CrashContext&& other) noexcept {
    std::swap(page_, other.page_);
    return *this;
}

Result<CrashContext> CrashContext::create() {
    void* memory = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return failed(std::string("cannot map a page for a worker: ") + std::strerror(errno) +
                      "; run fewer at a time (--jobs 1) or free memory");
    }
    return CrashContext(new (memory) Page{});
}

void CrashContext::adopt() const { g_page.store(page_, std::memory_order_relaxed); }

void CrashContext::begin() {
    page_->length.store(0, std::memory_order_release);
    page_->out_of_memory = false;
    page_->begun = false;
}

std::string CrashContext::read() const {
    const size_t length = std::min(page_->length.load(std::memory_order_acquire), kMostCharacters);
    return printable({page_->text, length}, kMostCharacters);
}

void CrashContext::note_out_of_memory() noexcept {
    if (CrashContext::Page* page = g_page.load(std::memory_order_relaxed)) page->out_of_memory = true;
}

void CrashContext::note_lost_socket() noexcept {
    if (CrashContext::Page* page = g_page.load(std::memory_order_relaxed)) page->lost_socket = true;
}

void CrashContext::note_begun() noexcept {
    if (CrashContext::Page* page = g_page.load(std::memory_order_relaxed)) page->begun = true;
}

bool CrashContext::out_of_memory() const { return page_->out_of_memory; }
bool CrashContext::lost_socket() const { return page_->lost_socket; }
bool CrashContext::begun() const { return page_->begun; }

}  // namespace diopi
