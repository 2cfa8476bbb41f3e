#include "core/scheduler/resources/task_resources.hpp"

#include <algorithm>
#include <utility>

namespace tinderbox::core {

TaskResources::Stock& TaskResources::stock_of(const Executor& executor) {
  const auto [at, fresh] = stocks_.try_emplace(executor.slot);
  if (fresh)
    for (const auto& [name, addresses] : executor.resources)
      for (const std::string& address : addresses)
        at->second.resources[name].push_back({address, kWhole});
  return at->second;
}

int32_t TaskResources::free_cpus(const Executor& e) const {
  const auto stock = stocks_.find(e.slot);
  const int32_t extra = stock == stocks_.end() ? 0 : stock->second.extra_cpus;
  return e.cores - e.running * executors_.profiles().needs(e.profile).cpus - extra;
}

int32_t TaskResources::free_slots(const Executor& e) const {
  return shared_ ? free_cpus(e) : e.free_slots();
}

int32_t TaskResources::room_in(const Addresses& addresses, const ResourceShare& share) {
  const int32_t units = kWhole / share.parts;
  int32_t room = 0;
  for (const Address& a : addresses) room += a.left / units;
  return room / share.addresses;
}

int32_t TaskResources::room(int32_t profile, const Executor& e) {
  const Profiles& profiles = executors_.profiles();
  if (!profiles.may_run(profile, e.profile)) return 0;
  const TaskNeeds& needs = profiles.needs(profile);
  int32_t room = free_cpus(e) / needs.cpus;
  if (room <= 0 || needs.resources.empty()) return std::max(0, room);
  const Stock& stock = stock_of(e);
  for (const auto& [name, share] : needs.resources) {
    const auto at = stock.resources.find(name);
    room = std::min(room, at == stock.resources.end() ? 0 : room_in(at->second, share));
  }
  return room;
}

ResourceAddresses TaskResources::take(TaskId task, int32_t profile, const Executor& e) {
  const Profiles& profiles = executors_.profiles();
  const TaskNeeds& needs = profiles.needs(profile);
  Holding holding;
  holding.executor = e.slot;
  holding.extra_cpus = needs.cpus - profiles.needs(e.profile).cpus;
  ResourceAddresses taken;
  if (holding.extra_cpus == 0 && needs.resources.empty()) return taken;
  Stock& stock = stock_of(e);
  stock.extra_cpus += holding.extra_cpus;
  for (const auto& [name, share] : needs.resources) {
    const int32_t units = kWhole / share.parts;
    int32_t wanted = share.addresses;
    Addresses& addresses = stock.resources[name];
    for (size_t i = 0; i < addresses.size() && wanted > 0; ++i) {
      if (addresses[i].left < units) continue;
      addresses[i].left -= units;
      --wanted;
      holding.holds.push_back({name, i, units});
      taken[name].push_back(addresses[i].name);
    }
  }
  holdings_.emplace(task, std::move(holding));
  return taken;
}

void TaskResources::give_back(TaskId task) {
  const auto node = holdings_.extract(task);
  if (node.empty()) return;
  const auto stock = stocks_.find(node.mapped().executor);
  if (stock == stocks_.end()) return;
  stock->second.extra_cpus -= node.mapped().extra_cpus;
  for (const Hold& hold : node.mapped().holds)
    stock->second.resources[hold.resource][hold.address].left += hold.units;
}

}  // namespace tinderbox::core
