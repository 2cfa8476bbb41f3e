#include "core/status/events.hpp"

namespace tinderbox::core {

ListenerEvent::ListenerEvent(const ListenerEvent&) = default;
ListenerEvent::ListenerEvent(ListenerEvent&&) noexcept = default;
ListenerEvent& ListenerEvent::operator=(const ListenerEvent&) = default;
ListenerEvent& ListenerEvent::operator=(ListenerEvent&&) noexcept = default;
ListenerEvent::~ListenerEvent() = default;

}  // namespace tinderbox::core
