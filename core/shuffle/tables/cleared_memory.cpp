#include "core/shuffle/tables/cleared_memory.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace tinderbox::core {
namespace {

constexpr size_t kHugePage = 2 << 20;

}  // namespace

ClearedMemory::ClearedMemory(size_t bytes) : bytes_(bytes) {
  if (bytes < kHugePage) {
    data_ = std::calloc(1, bytes);
    if (!data_) throw std::bad_alloc();
    return;
  }
  // One huge page more than wanted has room for an aligned beginning; the rest goes back.
  void* start = ::mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  const size_t before = -reinterpret_cast<uintptr_t>(start) % kHugePage;
  data_ = static_cast<char*>(start) + before;
  if (before > 0) ::munmap(start, before);
  ::munmap(static_cast<char*>(data_) + bytes, kHugePage - before);
  ::madvise(data_, bytes, MADV_HUGEPAGE);
}

ClearedMemory::~ClearedMemory() {
  if (!data_) return;
  if (bytes_ < kHugePage)
    std::free(data_);
  else
    ::munmap(data_, bytes_);
}

}  // namespace tinderbox::core
