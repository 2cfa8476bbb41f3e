// The real API server behind CallApi and WatchApi: threads with connections of their own.
#pragma once

#include <functional>
#include <memory>
#include <variant>

#include "core/deploy/kubernetes/access.hpp"
#include "core/deploy/kubernetes/api.hpp"

namespace tinderbox::core::kubernetes {

using ApiEvent = std::variant<ApiAnswered, PodChanged, WatchBookmark, WatchEnded>;

class ApiService {
 public:
  struct Options {
    conf::KubernetesAccess access;
    Duration connect_timeout{}, answer_timeout{};
    int connections = 1;  // at most; each is opened when it is needed
  };
  /// `deliver`: called from threads of this service.
  ApiService(Options options, std::function<void(ApiEvent)> deliver);
  /// Ends what is under way; nothing is delivered any more when it returns.
  ~ApiService();

  /// Thread: any. An answer 429 is waited for as the server says; a 401 is tried once more with new
  /// credentials.
  void call(CallApi what);
  void watch(WatchApi what);
  void stop(const StopWatch& what);
  /// Requests made so far, by method; each part of a watch counts as one `WATCH`.
  std::map<std::string, int64_t> calls() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tinderbox::core::kubernetes
