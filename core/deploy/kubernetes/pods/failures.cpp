#include "core/deploy/kubernetes/pods/failures.hpp"

#include <algorithm>

#include "conf/keys.hpp"
#include "core/deploy/kubernetes/objects/executor_pod.hpp"

namespace tinderbox::core::kubernetes {
namespace {

constexpr int32_t kFree = 2;  // failures in a row without a pause
constexpr Duration kShortBackoff = std::chrono::seconds(1);
constexpr Duration kLongBackoff = std::chrono::seconds(60);

}  // namespace

FailureOptions failure_options(const conf::Conf& conf) {
  FailureOptions o;
  const bool dynamic = conf.get(conf::kDynamicAllocationEnabled);
  const int64_t executors =
      dynamic ? conf.get(conf::kAllocationMaxExecutors) : executor_instances(conf);
  constexpr int64_t kLeast = 3;
  const int64_t usual = std::clamp<int64_t>(2 * executors, kLeast, INT32_MAX);
  o.max_failures = conf.get(conf::kMaxExecutorFailures).value_or(static_cast<int>(usual));
  if (const auto validity = conf.get(conf::kExecutorFailuresValidity);
      validity && *validity > Duration{})
    o.validity = *validity;
  return o;
}

void Failures::failed(bool served, Time now) {
  times_.push_back(now);
  in_a_row_ = served ? 0 : in_a_row_ + 1;
}

int32_t Failures::count(Time now) {
  while (!times_.empty() && options_.validity != Duration::max() &&
         now - times_.front() > options_.validity)
    times_.pop_front();
  return static_cast<int32_t>(times_.size());
}

Duration Failures::pause() const {
  if (in_a_row_ <= kFree) return {};
  const int doublings = std::min(in_a_row_ - kFree - 1, 6);
  return std::min(kShortBackoff * (1 << doublings), kLongBackoff);
}

}  // namespace tinderbox::core::kubernetes
