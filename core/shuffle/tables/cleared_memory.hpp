// Memory for tables: cleared, large pieces on huge pages.
#pragma once

#include <cstddef>
#include <utility>

namespace tinderbox::core {

/// Large tables are probed at random: on huge pages that saves a page walk a probe, and the system
/// gives them cleared. Errors: throws std::bad_alloc.
class ClearedMemory {
 public:
  ClearedMemory() = default;
  explicit ClearedMemory(size_t bytes);
  ~ClearedMemory();
  ClearedMemory(ClearedMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  ClearedMemory& operator=(ClearedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace tinderbox::core
