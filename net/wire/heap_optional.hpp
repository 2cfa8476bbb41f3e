// An optional value that is seldom there: a pointer in its owner, where std::optional takes the
// room of the value.
#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace tinderbox {

/// As std::optional, copied with its value. Empty after it was moved from.
template <class T>
class HeapOptional {
 public:
  HeapOptional() = default;
  HeapOptional(std::nullopt_t) {}
  HeapOptional(T value) : value_(std::make_unique<T>(std::move(value))) {}
  HeapOptional(const HeapOptional& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  HeapOptional(HeapOptional&&) noexcept = default;
  HeapOptional& operator=(HeapOptional other) noexcept {
    value_.swap(other.value_);
    return *this;
  }
  ~HeapOptional() = default;

  explicit operator bool() const { return value_ != nullptr; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  T& emplace() { return *(value_ = std::make_unique<T>()); }
  void reset() { value_.reset(); }
  bool operator==(const HeapOptional& other) const {
    return value_ && other.value_ ? *value_ == *other.value_ : !value_ == !other.value_;
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace tinderbox
