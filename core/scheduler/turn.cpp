#include "core/scheduler/turn.hpp"

namespace tinderbox::core {

DriverEffect::DriverEffect(const DriverEffect&) = default;
DriverEffect::DriverEffect(DriverEffect&&) noexcept = default;
DriverEffect& DriverEffect::operator=(const DriverEffect&) = default;
DriverEffect& DriverEffect::operator=(DriverEffect&&) noexcept = default;
DriverEffect::~DriverEffect() = default;

const std::vector<ListenerEvent>* Turn::posted() const {
  return publish_ == kNone ? nullptr : &std::get<Publish>(out[publish_]).events;
}

void Turn::send(PeerId to, ToExecutor message) {
  out.emplace_back(std::in_place_type<Send<ToExecutor>>, to, std::move(message));
}

void Turn::after(Duration delay, DriverTimer::Kind kind, int64_t number, std::string name) {
  out.emplace_back(After<DriverTimer>{delay, DriverTimer{kind, number, std::move(name)}});
}

void Turn::log(Level level, std::string line) { out.emplace_back(Log{level, std::move(line)}); }

std::vector<ListenerEvent>& Turn::events() {
  if (publish_ == kNone) {
    publish_ = out.size();
    out.emplace_back(Publish{});
    std::get<Publish>(out.back()).events.reserve(expected_);
  }
  return std::get<Publish>(out[publish_]).events;
}

}  // namespace tinderbox::core
