// An application that computes round after round what is known, while its pods are disturbed from
// outside. Run by tests/kubernetes/cases.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/api/tinderbox.hpp"
#include "tests/apps/shared/watched.hpp"

namespace {

using namespace tinderbox;
using Pair = std::pair<int64_t, int64_t>;

constexpr int64_t kNumbers = 6000;
constexpr int64_t kKeys = 7;

/// Tells which executors went, and why.
class Ends : public Watched {
 public:
  void on_events(std::span<const core::ListenerEvent> events) override {
    for (const core::ListenerEvent& e : events)
      if (auto* gone = std::get_if<core::ExecutorRemoved>(&e)) {
        std::printf("gone %s: %s\n", gone->executor.value.c_str(), gone->reason.c_str());
        std::fflush(stdout);
      }
  }
};

/// Takes memory until the kernel has enough of it.
void eat() {
  std::vector<char*> all;
  for (;;) {
    constexpr size_t kPart = 16 << 20;
    char* part = static_cast<char*>(std::malloc(kPart));
    for (size_t i = 0; i < kPart; i += 4096) part[i] = 1;
    all.push_back(part);
  }
}

int64_t slow(int64_t x) {
  if (x % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return x;
}

int64_t greedy(int64_t x) {
  const char* id = std::getenv("SPARK_EXECUTOR_ID");
  if (id && std::string(id) == "1") eat();
  return x;
}

/// On the first executor it does not end in time.
int64_t stuck(int64_t x) {
  const char* id = std::getenv("SPARK_EXECUTOR_ID");
  if (x % 500 == 0 && id && std::string(id) == "1")
    std::this_thread::sleep_for(std::chrono::minutes(2));
  return x;
}

std::vector<int64_t> numbers() {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < kNumbers; ++i) all.push_back(i);
  return all;
}

Rdd<Pair> sums(const Rdd<Pair>& pairs) {
  return pairs.reduce_by_key([](int64_t a, int64_t b) { return a + b; }, 5);
}

void check(const Rdd<Pair>& sums) {
  std::map<int64_t, int64_t> wanted, got;
  for (int64_t x = 0; x < kNumbers; ++x) wanted[x % kKeys] += x;
  for (const auto& [key, sum] : sums.collect()) got[key] += sum;
  if (got != wanted) throw std::runtime_error("PODS TEST: wrong sums");
}

void round(Context& context, const std::string& kind) {
  auto all = context.parallelize(numbers(), 12);
  if (kind == "greedy")
    check(sums(all.map([](int64_t x) { return Pair(greedy(x) % kKeys, x); })));
  else if (kind == "stuck")
    check(sums(all.map([](int64_t x) { return Pair(stuck(x) % kKeys, x); })));
  else
    check(sums(all.map([](int64_t x) { return Pair(slow(x) % kKeys, x); })));
}

void end_round(int n) {
  std::printf("round %d\n", n);
  std::fflush(stdout);
}

/// Rounds over what executors hold, cached and shuffled: says how often it was computed.
void rounds_of_kept(Context& context, std::chrono::steady_clock::time_point end) {
  auto cached = context.long_accumulator("cached"), shuffled = context.long_accumulator("shuffled");
  const auto counted = [](auto& count) {
    return capture(count, [](const auto& n, int64_t x) {
      n.add(1);
      return x;
    });
  };
  auto all = context.parallelize(numbers(), 12).map(counted(cached)).cache();
  auto kept = sums(all.map(counted(shuffled)).map([](int64_t x) { return Pair(x % kKeys, x); }));
  int rounds = 0;
  do {
    check(kept);
    if (all.count() != kNumbers) throw std::runtime_error("PODS TEST: wrong count");
    end_round(++rounds);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  } while (std::chrono::steady_clock::now() < end);
  std::printf("cached %d, shuffled %d\n", static_cast<int>(cached.value()),
              static_cast<int>(shuffled.value()));
}

int run(Context& context, std::span<const std::string> args) {
  context.add_listener(std::make_shared<Ends>());
  const int seconds = args.empty() ? 1 : std::atoi(args[0].c_str());
  const std::string kind = args.size() > 1 ? args[1] : "";
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  if (kind == "kept") {
    rounds_of_kept(context, end);
  } else {
    int rounds = 0;
    do {
      round(context, rounds == 1 ? kind : "");
      end_round(++rounds);
    } while (std::chrono::steady_clock::now() < end || (!kind.empty() && rounds < 3));
  }
  std::printf("all rounds: right results\n");
  return 0;
}

TINDERBOX_APPLICATION(pods, "rounds of known results: SECONDS [greedy|stuck|kept]", run);

}  // namespace
