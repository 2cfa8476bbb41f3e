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

void round(Context& context, bool with_greed) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < kNumbers; ++i) numbers.push_back(i);
  auto all = context.parallelize(numbers, 12);
  auto pairs = with_greed ? all.map([](int64_t x) { return Pair(greedy(x) % kKeys, x); })
                          : all.map([](int64_t x) { return Pair(slow(x) % kKeys, x); });
  std::map<int64_t, int64_t> wanted, got;
  for (const int64_t x : numbers) wanted[x % kKeys] += x;
  for (const auto& [key, sum] :
       pairs.reduce_by_key([](int64_t a, int64_t b) { return a + b; }, 5).collect())
    got[key] += sum;
  if (got != wanted) throw std::runtime_error("PODS TEST: wrong sums");
}

int run(Context& context, std::span<const std::string> args) {
  context.add_listener(std::make_shared<Ends>());
  const int seconds = args.empty() ? 1 : std::atoi(args[0].c_str());
  const bool with_greed = args.size() > 1 && args[1] == "greedy";
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  int rounds = 0;
  do {
    round(context, with_greed && rounds == 1);
    std::printf("round %d\n", ++rounds);
    std::fflush(stdout);
  } while (std::chrono::steady_clock::now() < end || (with_greed && rounds < 3));
  std::printf("all rounds: right results\n");
  return 0;
}

TINDERBOX_APPLICATION(pods, "rounds of known results: SECONDS [greedy]", run);

}  // namespace
