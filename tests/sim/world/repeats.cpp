#include "tests/sim/world/repeats.hpp"

#include <type_traits>
#include <variant>

#include "net/wire/codec.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::sim {
namespace {

/// The tag is one of these messages'.
template <class... Ms, class... All>
bool one_of(size_t tag, std::type_identity<std::variant<All...>>) {
  size_t i = 0;
  bool found = false;
  const auto look = [&]<class A>(std::type_identity<A>) {
    found = found || (i++ == tag && (std::is_same_v<A, Ms> || ...));
  };
  (look(std::type_identity<All>()), ...);
  return found;
}

}  // namespace

bool may_repeat(const net::Packet& packet) {
  switch (static_cast<net::Conversation>(packet.conversation)) {
    case net::Conversation::ToDriver:
      return one_of<ExecutorHello, RegisterExecutor, ExecutorReady, StatusUpdates,
                    ExecutorHeartbeat, ExecutorExiting, ExecutorDecommissioning,
                    BlockLocationsRequest>(packet.tag, std::type_identity<ToDriver>());
    case net::Conversation::ToExecutor:
      return one_of<ExecutorRegistered, HeartbeatAnswer, KillTask, DecommissionExecutor>(
          packet.tag, std::type_identity<ToExecutor>());
    case net::Conversation::ToMaster:
      return one_of<RegisterWorker, WorkerHeartbeat, ExecutorStateChanged, RegisterApplication>(
          packet.tag, std::type_identity<ToMaster>());
    case net::Conversation::ToWorker:
      return one_of<ExecutorStateAccepted, KillExecutor, ApplicationFinished>(
          packet.tag, std::type_identity<ToWorker>());
    default:
      return false;
  }
}

}  // namespace tinderbox::sim
