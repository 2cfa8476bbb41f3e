#include "core/api/shared.hpp"

#include <stdexcept>

namespace tinderbox {
namespace core {

Payload fetch_broadcast(TaskContext& context, BroadcastId id) {
  auto value = context.services->broadcast(id);
  if (!value) {
    if (context.kill_mark()) throw TaskKilledException{};
    throw std::runtime_error(value.error().message);
  }
  return std::move(*value);
}

std::string last_shown(const std::function<std::string()>& text) try {
  constexpr size_t kMost = 4096;
  std::string all = text();
  if (all.size() <= kMost) return all;
  size_t most = kMost;
  while (most > 0 && (static_cast<unsigned char>(all[most]) & 0xC0) == 0x80) --most;
  return all.substr(0, most) + "…";
} catch (const std::exception&) {
  return "";
}

void fail_destroyed(BroadcastId id, const std::string& at) {
  throw std::runtime_error("Attempted to use Broadcast(" + std::to_string(id.value) +
                           ") after it was destroyed (" + at + ")");
}

void fail_driver_only(const char* what) {
  throw std::logic_error(std::string(what) +
                         " was used where it is not known: neither by the driver's own thread nor "
                         "in a task that got it by capture()");
}

}  // namespace core

Accumulator<int64_t, Add> Context::long_accumulator(const std::string& name) {
  return {*this, 0, name};
}
Accumulator<double, Add> Context::double_accumulator(const std::string& name) {
  return {*this, 0.0, name};
}
Accumulator<Average, AddToAverage> Context::average_accumulator(const std::string& name) {
  return {*this, {}, name};
}

}  // namespace tinderbox
