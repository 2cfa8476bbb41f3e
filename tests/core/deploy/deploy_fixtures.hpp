// Reading the effects of the deploy machines in tests, and their usual messages in one line each.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/machine.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core::test {

/// Every effect of type E, in order.
template <class E, class Effects>
std::vector<E> all(const Effects& effects) {
  std::vector<E> found;
  for (const auto& effect : effects)
    if (auto* e = std::get_if<E>(&effect)) found.push_back(*e);
  return found;
}

template <class M>
struct Sent {
  PeerId to = 0;
  M message;
  bool operator==(const Sent&) const = default;
};
/// Every message of type M that is sent as part of variant V, in order.
template <class V, class M, class Effects>
std::vector<Sent<M>> sent_as(const Effects& effects) {
  std::vector<Sent<M>> found;
  for (const Send<V>& s : all<Send<V>>(effects))
    if (auto* m = std::get_if<M>(&s.message)) found.push_back({s.to, *m});
  return found;
}
template <class M, class Effects>
std::vector<Sent<M>> to_worker(const Effects& e) {
  return sent_as<ToWorker, M>(e);
}
template <class M, class Effects>
std::vector<Sent<M>> to_app(const Effects& e) {
  return sent_as<ToApp, M>(e);
}
template <class M, class Effects>
std::vector<Sent<M>> to_client(const Effects& e) {
  return sent_as<ToClient, M>(e);
}
template <class M, class Effects>
std::vector<Sent<M>> to_master(const Effects& e) {
  return sent_as<ToMaster, M>(e);
}

template <class Effects>
bool logged(const Effects& effects, const std::string& part) {
  for (const Log& l : all<Log>(effects))
    if (l.line.find(part) != std::string::npos) return true;
  return false;
}

inline ApplicationDescription app_of(std::optional<int32_t> max_cores = {},
                                     std::optional<int32_t> cores = {}, int64_t memory = 1024) {
  ApplicationDescription d;
  d.name = "count";
  d.user = "ann";
  d.max_cores = max_cores;
  d.cores_per_executor = cores;
  d.memory_per_executor_mib = memory;
  d.command.elf = "/opt/count";
  return d;
}

inline RegisterWorker worker_of(const std::string& name, int32_t cores = 10,
                                int64_t memory = 4096) {
  RegisterWorker m;
  m.id = {"worker-" + name};
  m.host = name;
  m.port = 4000;
  m.cores = cores;
  m.memory_mib = memory;
  m.web_ui_url = "http://" + name + ":8081";
  m.master_address_used = "spark://m:7077";
  return m;
}

}  // namespace tinderbox::core::test
