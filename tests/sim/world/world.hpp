// Virtual time and the processes that live in it.
//
// Everything that happens is an entry of one queue, ordered by (time, sequence). An entry belongs
// to a process and is dropped when that process is dead, put off while it is paused.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/loop.hpp"
#include "tests/sim/world/random.hpp"

namespace tinderbox::sim {

using namespace std::chrono_literals;

/// A check that did not hold: the run ends with it.
struct Broken : std::runtime_error {
  Broken(std::string name, const std::string& detail)
      : std::runtime_error(name + ": " + detail), check(std::move(name)) {}
  std::string check;
};

/// One incarnation of a process. Its clock is off by `skew` and runs `drift` millionths too fast.
struct Process {
  std::string name;
  std::string host;
  bool alive = true;
  Duration skew{};
  int64_t drift = 0;
  Time paused_until{};
  Time slow_until{};  // messages to and from it take `slowness` more
  Duration slowness{};
  /// Called once, when the fault meets something: an event that is put off, a message that is late.
  std::function<void()> held_up, slowed;
};
/// Whoever waits to hear of it hears of it once.
inline void strike(std::function<void()>& told) {
  if (const auto tell = std::exchange(told, nullptr)) tell();
}
using ProcessPtr = std::shared_ptr<Process>;

class World {
 public:
  using Task = std::function<void()>;

  World(uint64_t seed, bool traced) : seed_(seed), random_(seed), traced_(traced) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Time now() const { return now_; }
  Random& random() { return random_; }
  uint64_t seed() const { return seed_; }
  /// `process` null: the simulator itself.
  void after(const ProcessPtr& process, Duration delay, Task task);
  /// Runs the next entry. False: there is none until `until`, which is the time now.
  bool step(Time until);
  uint64_t steps() const { return steps_; }

  bool traced() const { return traced_; }
  /// One line of the trace; also what tells two runs apart.
  void trace(std::string_view who, const std::string& line);
  void note(uint64_t number) { digest_ = mix(digest_, number); }
  /// Equal for equal runs.
  uint64_t digest() const { return digest_; }

 private:
  struct Entry {
    Time at;
    uint64_t sequence = 0;
    ProcessPtr process;
    Task task;
    bool operator<(const Entry& o) const {  // the heap's top is the earliest
      return at != o.at ? at > o.at : sequence > o.sequence;
    }
  };
  void push(Entry entry);

  std::vector<Entry> queue_;
  Time now_{std::chrono::duration_cast<Duration>(1000s)};
  uint64_t sequence_ = 0, steps_ = 0, digest_ = 0;
  const uint64_t seed_;
  Random random_;
  const bool traced_;
};

/// The loop of one simulated process: its own clock, nothing runs once it is dead.
class SimLoop final : public net::Loop {
 public:
  SimLoop(World& world, ProcessPtr process) : world_(world), process_(std::move(process)) {}
  Time now() const override;
  void after(Duration delay, Task task) override;
  void post(Task task) override { world_.after(process_, Duration{1}, std::move(task)); }
  void run() override {}
  void stop() override {}

 private:
  World& world_;
  const ProcessPtr process_;
};

}  // namespace tinderbox::sim
