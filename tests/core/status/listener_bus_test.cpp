#include "core/status/listener_bus.hpp"

#include <atomic>
#include <stdexcept>
#include <thread>

using namespace tinderbox;
using namespace tinderbox::core;

namespace {

ListenerEvent numbered(int i) { return RddUnpersisted{RddId{i}}; }
std::vector<ListenerEvent> batch(int from, int to) {
  std::vector<ListenerEvent> out;
  for (int i = from; i < to; ++i) out.push_back(numbered(i));
  return out;
}

/// Remembers the numbers; can be held up, and can throw.
struct Recorder : Listener {
  std::vector<int> seen;
  std::atomic<bool> entered{false}, held{false};
  int throw_at = -1;
  void on_events(std::span<const ListenerEvent> events) override {
    entered = true;
    entered.notify_all();
    held.wait(true);
    for (auto& e : events) {
      int i = std::get<RddUnpersisted>(e).rdd.value;
      if (i == throw_at) throw std::runtime_error("no " + std::to_string(i));
      seen.push_back(i);
    }
  }
  void hold() { held = true; }
  void release() {
    held = false;
    held.notify_all();
  }
};

std::vector<int> numbers(int from, int to) {
  std::vector<int> out;
  for (int i = from; i < to; ++i) out.push_back(i);
  return out;
}

}  // namespace

TEST_CASE("each listener gets all events in order, from before the start to the stop") {
  auto a = std::make_shared<Recorder>(), b = std::make_shared<Recorder>();
  ListenerBus bus({});
  bus.add(a);
  bus.add(b);
  bus.post(numbered(0));
  bus.post(batch(1, 3));
  CHECK(a->seen.empty());
  bus.start();
  for (int i = 3; i < 1000; ++i) bus.post(numbered(i));
  bus.post(std::vector<ListenerEvent>{});
  bus.stop();
  CHECK(a->seen == numbers(0, 1000));
  CHECK(b->seen == numbers(0, 1000));
  CHECK(bus.counters() == ListenerBus::Counters{1000, 0, 1000});
  bus.post(numbered(7));
  CHECK(bus.counters() == ListenerBus::Counters{1001, 1, 1000});
  bus.stop();
}

TEST_CASE("what comes before a batch comes before any listener gets it") {
  struct Counting : Listener {
    int* called = nullptr;
    std::vector<int> seen;
    void on_events(std::span<const ListenerEvent>) override { seen.push_back(*called); }
  };
  int called = 0;
  auto a = std::make_shared<Counting>();
  a->called = &called;
  ListenerBus::Options options;
  options.before_batch = [&] { ++called; };
  ListenerBus bus(options);
  bus.add(a);
  bus.post(batch(0, 3));
  bus.start();
  bus.drain();
  bus.post(numbered(3));
  bus.stop();
  CHECK(a->seen == std::vector<int>{1, 2});
}

TEST_CASE("drain waits for what was posted before") {
  auto a = std::make_shared<Recorder>();
  ListenerBus bus({});
  bus.add(a);
  bus.start();
  for (int round = 0; round < 50; ++round) {
    bus.post(batch(round * 10, round * 10 + 10));
    bus.drain();
    CHECK(a->seen.size() == size_t(round + 1) * 10);
  }
}

TEST_CASE("a full queue drops whole batches, never blocks, and warns at most every 60 s") {
  std::vector<std::string> warnings;
  Time now{};
  ListenerBus bus({10, [&](const std::string& w) { warnings.push_back(w); }, [&] { return now; }});
  auto slow = std::make_shared<Recorder>();
  slow->hold();
  bus.add(slow);
  bus.start();
  bus.post(batch(0, 4));
  slow->entered.wait(false);
  bus.post(batch(4, 10));   // 4 being delivered and 6 waiting: full
  bus.post(batch(10, 13));  // dropped whole
  bus.post(numbered(13));
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("Dropped 3 listener events") == 0);
  CHECK(warnings[0].find("eventqueue.capacity is 10") != std::string::npos);
  now += std::chrono::seconds(59);
  bus.post(numbered(14));
  CHECK(warnings.size() == 1);
  now += std::chrono::seconds(1);
  bus.post(numbered(15));
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[1].find("Dropped 3 listener events") == 0);
  slow->release();
  bus.drain();
  bus.post(numbered(16));
  bus.stop();
  std::vector<int> want = numbers(0, 10);
  want.push_back(16);
  CHECK(slow->seen == want);
  CHECK(bus.counters() == ListenerBus::Counters{17, 6, 11});
}

TEST_CASE("a throwing listener misses only its batch and does not touch the others") {
  std::vector<std::string> warnings;
  auto bad = std::make_shared<Recorder>(), good = std::make_shared<Recorder>();
  bad->throw_at = 1;
  ListenerBus bus({0, [&](const std::string& w) { warnings.push_back(w); }, {}});
  bus.add(bad);
  bus.add(good);
  bus.start();
  bus.post(batch(0, 3));
  bus.drain();
  bus.post(batch(3, 5));
  bus.stop();
  CHECK(bad->seen == std::vector<int>{0, 3, 4});
  CHECK(good->seen == numbers(0, 5));
  CHECK(warnings == std::vector<std::string>{"A listener threw: no 1"});
}

TEST_CASE("posting from many threads loses nothing and keeps each thread's order") {
  struct Counter : Listener {
    std::map<int, int> last;
    int count = 0;
    bool ordered = true;
    void on_events(std::span<const ListenerEvent> events) override {
      for (auto& e : events) {
        int i = std::get<RddUnpersisted>(e).rdd.value;
        auto [it, first] = last.try_emplace(i / 100000, -1);
        ordered = ordered && it->second < i;
        it->second = i;
        ++count;
      }
    }
  };
  auto counter = std::make_shared<Counter>();
  ListenerBus bus({});
  bus.add(counter);
  bus.start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20000; i += 100) bus.post(batch(t * 100000 + i, t * 100000 + i + 100));
    });
  for (auto& t : threads) t.join();
  bus.stop();
  CHECK(counter->count == 60000);
  CHECK(counter->ordered);
}
