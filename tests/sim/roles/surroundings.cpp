#include "tests/sim/roles/surroundings.hpp"

namespace tinderbox::sim {

ProcessPtr make_process(World& world, const std::string& name, const std::string& host,
                        bool skewed) {
  auto process = std::make_shared<Process>();
  process->name = name;
  process->host = host;
  if (skewed) {
    uint64_t key = world.seed();
    for (const char c : host) key = mix(key, static_cast<uint64_t>(c));
    Random clock(key);
    process->skew = clock.between(Duration{-300s}, Duration{300s});
    process->drift = clock.between(-20'000, 20'000);
  }
  return process;
}

}  // namespace tinderbox::sim
