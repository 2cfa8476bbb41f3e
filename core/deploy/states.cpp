#include "core/deploy/states.hpp"

namespace tinderbox::core {
namespace {
template <size_t N, class E>
std::string_view pick(const std::string_view (&names)[N], E state) {
  return names[static_cast<size_t>(state)];
}
}  // namespace

std::string_view name_of(WorkerState s) {
  static constexpr std::string_view kNames[] = {"ALIVE", "DEAD", "DECOMMISSIONED", "UNKNOWN"};
  return pick(kNames, s);
}
std::string_view name_of(AppState s) {
  static constexpr std::string_view kNames[] = {"WAITING", "RUNNING", "FINISHED",
                                                "FAILED",  "KILLED",  "UNKNOWN"};
  return pick(kNames, s);
}
std::string_view name_of(RecoveryState s) {
  static constexpr std::string_view kNames[] = {"STANDBY", "ALIVE", "RECOVERING",
                                                "COMPLETING_RECOVERY"};
  return pick(kNames, s);
}
std::string_view name_of(ExecutorState s) {
  static constexpr std::string_view kNames[] = {"LAUNCHING", "RUNNING", "KILLED",        "FAILED",
                                                "LOST",      "EXITED",  "DECOMMISSIONED"};
  return pick(kNames, s);
}
std::string_view name_of(DriverState s) {
  static constexpr std::string_view kNames[] = {"SUBMITTED", "RUNNING", "FINISHED", "RELAUNCHING",
                                                "UNKNOWN",   "KILLED",  "FAILED",   "ERROR"};
  return pick(kNames, s);
}

bool is_finished(ExecutorState s) {
  return s == ExecutorState::Killed || s == ExecutorState::Failed || s == ExecutorState::Lost ||
         s == ExecutorState::Exited;
}
bool is_finished(DriverState s) {
  return s == DriverState::Finished || s == DriverState::Killed || s == DriverState::Failed ||
         s == DriverState::Error;
}

}  // namespace tinderbox::core
