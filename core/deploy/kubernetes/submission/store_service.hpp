// The real object store behind AskStore: one thread, a connection for each question.
#pragma once

#include <functional>
#include <memory>

#include "core/deploy/kubernetes/submission/submission.hpp"

namespace tinderbox::core::kubernetes {

class StoreService {
 public:
  /// `deliver`: called from the thread of this service.
  explicit StoreService(std::function<void(ApiAnswered)> deliver);
  /// Ends what is under way; nothing is delivered any more when it returns.
  ~StoreService();

  /// Thread: one. Answered before the next is asked.
  void ask(AskStore what);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tinderbox::core::kubernetes
