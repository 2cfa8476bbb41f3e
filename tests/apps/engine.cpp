// An application that runs every kind of step through a real cluster and checks each against plain
// loops. Run by tests/processes/cluster/{engine,machine}_test.sh in local, local-cluster and
// standalone mode.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>

#include "core/api/tinderbox.hpp"

namespace {

using namespace tinderbox;
using Pair = std::pair<int64_t, int64_t>;

void require(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(std::string("ENGINE TEST: ") + what);
}

std::vector<int64_t> numbers(int64_t n) {
  std::vector<int64_t> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(i);
  return v;
}

void narrow_steps(Context& c) {
  auto odd = c.parallelize(numbers(1000), 7).filter([](int64_t x) { return x % 2 == 1; });
  auto text = odd.map([](int64_t x) { return "n" + std::to_string(x); }).collect();
  require(text.size() == 500 && text.front() == "n1" && text.back() == "n999",
          "filter, map, collect");
  require(odd.take(3) == std::vector<int64_t>{1, 3, 5}, "take");
  require(c.range(0, 10, 1, 3)
                  .zip(c.range(10, 20, 1, 3))
                  .map([](const Pair& p) { return p.first * p.second; })
                  .collect()[2] == 24,
          "zip");
  int64_t fold = odd.fold(0, [](int64_t a, int64_t b) { return a + b; });
  require(fold == 250000, "fold");
  require(odd.union_with(odd).distinct().count() == 500, "union, distinct");
}

void shuffles(Context& c) {
  auto pairs = c.range(0, 20000, 1, 9).map([](int64_t x) { return Pair(x % 100, x); });
  auto sums = pairs.reduce_by_key([](int64_t a, int64_t b) { return a + b; }, 5).collect_as_map();
  require(sums.size() == 100 && sums.at(7) == 7 * 200 + 100 * (199 * 200 / 2), "reduce_by_key");
  auto groups = pairs.group_by_key(4)
                    .map([](const auto& g) { return Pair(g.first, int64_t(g.second.size())); })
                    .collect_as_map();
  require(groups.size() == 100 && groups.at(99) == 200, "group_by_key");
  auto sorted = c.range(0, 5000, 1, 6)
                    .map([](int64_t x) { return Pair((x * 7919) % 5000, x); })
                    .sort_by_key(true, 4)
                    .collect();
  require(sorted.size() == 5000 && std::is_sorted(sorted.begin(), sorted.end()), "sort_by_key");
  auto left = c.range(0, 100, 1, 3).map([](int64_t x) { return Pair(x, x); });
  auto right = c.range(50, 150, 1, 4).map([](int64_t x) { return Pair(x, -x); });
  auto joined = left.join(right).collect();
  require(joined.size() == 50, "join");
  require(c.range(0, 1000, 1, 10).repartition(3).count() == 1000, "repartition");
  require(c.range(0, 1000, 1, 10).coalesce(2).collect() == numbers(1000), "coalesce");
}

/// Map outputs of megabytes go to files; results of megabytes come as blocks.
void large_data(Context& c) {
  auto big = c.range(0, 64, 1, 4).map([](int64_t x) {
    return std::pair<int64_t, std::string>(x, std::string(100'000, char('a' + x % 26)));
  });
  auto parts =
      big.partition_by(4).map([](const auto& p) { return int64_t(p.second.size()); }).collect();
  require(std::accumulate(parts.begin(), parts.end(), int64_t{0}) == 6'400'000,
          "shuffle of large values");
  auto back = big.collect();
  require(back.size() == 64 && back[63].second == std::string(100'000, char('a' + 63 % 26)),
          "results over the direct limit");
}

void stored(Context& c) {
  for (const StorageLevel& level : {MEMORY_ONLY, DISK_ONLY, MEMORY_AND_DISK, MEMORY_AND_DISK_2}) {
    auto counted = c.long_accumulator();
    auto rdd = c.range(0, 100, 1, 4).map(capture(counted, [](const auto& n, int64_t x) {
      n.add(1);
      return x * 2;
    }));
    rdd.persist(level);
    require(rdd.count() == 100 && rdd.count() == 100 && rdd.collect()[99] == 198, "persist");
    require(counted.value() == 100, "a persisted rdd is computed once");
    rdd.unpersist();
    require(rdd.count() == 100 && counted.value() == 200, "unpersist");
  }
}

/// Partitions on disks: once they are there, whoever runs this makes some unreadable and says how
/// many. These are computed again, and no task fails.
void kept(Context& c, const std::string& directory) {
  constexpr int32_t kPartitions = 12;
  constexpr int64_t kEach = 1000, kAll = kPartitions * kEach;
  auto computed = c.long_accumulator();
  auto rdd = c.range(0, kAll, 1, kPartitions).map(capture(computed, [](const auto& n, int64_t x) {
    n.add(1);
    return x;
  }));
  rdd.persist(DISK_ONLY);
  require(rdd.count() == kAll && computed.value() == kAll, "partitions on disks");
  std::ofstream{directory + "/counted"};
  int64_t lost = 0;
  require(!(std::cin >> lost).fail(), "how many partitions were lost");
  require(rdd.count() == kAll, "a count of partitions that were lost");
  require(computed.value() == kAll + lost * kEach, "what was lost is computed again, no more");
  require(rdd.sum() == kAll * (kAll - 1) / 2, "a sum of partitions that were lost");
  require(computed.value() == kAll + lost * kEach, "what was computed again is kept");
}

void shared(Context& c) {
  std::map<int64_t, std::string> names;
  for (int64_t i = 0; i < 1000; ++i) names[i] = std::string(10'000, char('a' + i % 26));
  auto table = c.broadcast(names);
  auto sizes = c.range(0, 1000, 1, 8).map(capture(table, [](const auto& t, int64_t x) {
    return int64_t(t.value().at(x).size());
  }));
  require(sizes.sum() == 10'000'000, "broadcast of several pieces");
  auto sum = c.long_accumulator("sum");
  c.range(1, 11, 1, 3).foreach (capture(sum, [](const auto& s, int64_t x) { s.add(x); }));
  require(sum.value() == 55, "accumulator");
  table.unpersist();
  require(sizes.count() == 1000, "broadcast after unpersist");
}

/// More than a message of 1 MiB takes: from several tasks together, and from one.
void collected(Context& c) {
  auto texts = c.collection_accumulator<std::string>();
  auto pairs = c.range(0, 16, 1, 16).map(capture(texts, [](const auto& t, int64_t x) {
    t.add(std::string(x < 15 ? size_t{100'000} : size_t{2} << 20, 'x'));
    return Pair(x % 2, x);
  }));
  const auto bytes = [&] {
    size_t sum = 0;
    for (const std::string& text : texts.value()) sum += text.size();
    return sum;
  };
  constexpr size_t kOnce = 1'500'000 + (2 << 20);
  require(pairs.count() == 16 && bytes() == kOnce, "megabytes in an accumulator");
  auto sums = pairs.reduce_by_key([](int64_t a, int64_t b) { return a + b; }, 2);
  require(sums.count() == 2 && bytes() == 2 * kOnce, "megabytes added by map tasks");
}

/// As many tasks as the cluster runs at once meet three times.
void barriers(Context& c) {
  const int64_t n = c.default_parallelism();
  auto met = c.range(0, n, 1, static_cast<int32_t>(n))
                 .barrier()
                 .map_partitions<Pair>([](auto& in, auto& emit) {
                   BarrierTaskContext context = BarrierTaskContext::get();
                   context.barrier();
                   int64_t own = 0, sum = 0;
                   in.for_each([&](int64_t x) { own += x; });
                   for (const std::string& said : context.all_gather(std::to_string(own)))
                     sum += std::stoll(said);
                   context.barrier();
                   emit(Pair(static_cast<int64_t>(context.task_infos().size()), sum));
                 })
                 .collect();
  require(met == std::vector<Pair>(static_cast<size_t>(n), Pair(n, n * (n - 1) / 2)),
          "barrier, all_gather");
}

void map_stages(Context& c) {
  auto groups =
      c.range(0, 1000, 1, 4).map([](int64_t x) { return Pair(x % 10, x); }).group_by_key(3);
  const auto bytes = c.submit_map_stage(groups.shuffles().at(0)).bytes_by_partition;
  require(bytes.size() == 3 && std::accumulate(bytes.begin(), bytes.end(), int64_t{0}) > 0,
          "submit_map_stage");
  require(groups.count() == 10, "groups of submitted maps");
}

/// Files of bytes that are no text, and such of records without ends.
void binary(Context& c, const std::string& directory) {
  std::filesystem::create_directories(directory + "/raw");
  std::map<std::string, std::string> raw;  // by URL
  for (int i = 0; i < 5; ++i) {
    const std::string path = directory + "/raw/" + std::to_string(i);
    std::string& bytes = raw["file:" + path];
    for (int k = 0; k < i * 20'000; ++k) bytes.append("\0\xff\n", 3);
    std::ofstream(path) << bytes;
  }
  require(c.binary_files(directory + "/raw", 3).collect_as_map() == raw, "binary_files");
  std::string records;
  for (int64_t i = 0; i < 1000; ++i) records += std::to_string(1'000'000 + i);
  std::ofstream(directory + "/records") << records;
  require(c.binary_records(directory + "/records", 7)
                  .map([](std::string_view record) {
                    return static_cast<int64_t>(std::stoll(std::string(record))) - 1'000'000;
                  })
                  .collect() == numbers(1000),
          "binary_records");
}

void files(Context& c, const std::string& directory) {
  c.range(0, 1000, 1, 5)
      .map([](int64_t x) { return std::to_string(x); })
      .save_as_text_file(directory + "/numbers");
  require(c.text_file(directory + "/numbers", 7).count() == 1000,
          "save_as_text_file, text_file of a directory");
  require(c.text_file(directory + "/numbers/part-*")
                  .map([](std::string_view l) { return int64_t(l.size()); })
                  .sum() == 2890,
          "text_file of a glob");
  const auto named =
      c.range(0, 5000, 1, 3).map([](int64_t x) { return std::pair(x, "n" + std::to_string(x)); });
  for (const auto how : {Compression::None, Compression::Deflate, Compression::Gzip}) {
    const std::string path = directory + "/pairs" + std::to_string(static_cast<int>(how));
    named.save_as_sequence_file(path, how);
    require(c.sequence_file<int64_t, std::string>(path, 9).collect() == named.collect(),
            "save_as_sequence_file, sequence_file");
  }
  binary(c, directory);
  c.set_checkpoint_dir(directory + "/checkpoints");
  auto rdd = c.range(0, 100, 1, 3).map([](int64_t x) { return x + 1; });
  rdd.checkpoint();
  require(rdd.count() == 100 && rdd.is_checkpointed() && rdd.sum() == 5050, "checkpoint");
}

/// First line of a shipped file, as each task finds it.
std::set<std::string> lines_in_tasks(Context& c, const std::string& name) {
  auto lines = c.range(0, 8, 1, 8)
                   .map(capture(name,
                                [](const std::string& n, int64_t) {
                                  std::string line;
                                  std::getline(std::ifstream(shipped_file(n)), line);
                                  return line;
                                }))
                   .collect();
  return {lines.begin(), lines.end()};
}

bool end_with(const std::vector<std::string>& paths, const std::vector<std::string>& ends) {
  return std::equal(paths.begin(), paths.end(), ends.begin(), ends.end(),
                    [](const auto& path, const auto& end) { return path.ends_with(end); });
}

/// Files given by --files and --archives, and such as the application adds while it runs; `archive`
/// is a late.tar.
void shipped(Context& c, const std::string& directory, const std::string& archive) {
  using Lines = std::set<std::string>;
  require(lines_in_tasks(c, "shipped.txt") == Lines{"hello"}, "--files");
  require(lines_in_tasks(c, "unpacked/inner.txt") == Lines{"inner"}, "--archives");
  std::ofstream(directory + "/late.txt") << "late\n";
  c.add_file(directory + "/late.txt");
  require(lines_in_tasks(c, "late.txt") == Lines{"late"}, "add_file");
  c.add_archive(archive + "#late");
  require(lines_in_tasks(c, "late/inner.txt") == Lines{"inner"}, "add_archive");
  require(end_with(c.list_files(), {"/shipped.txt", "/late.txt"}), "list_files");
  require(end_with(c.list_archives(), {"/pack.tar.gz#unpacked", "/late.tar#late"}),
          "list_archives");
}

/// As many blocks as large clusters have: a byte of size for each, 100 MB. The driver has them in
/// its table, in the answer to executors, and in that answer's bytes: twice while these grow.
void wide(Context& c) {
  constexpr int32_t n = 10'000;
  auto sums = c.range(0, n, 1, n)
                  .map([](int64_t x) { return Pair(x, x); })
                  .reduce_by_key([](int64_t a, int64_t b) { return a + b; }, n);
  require(sums.values().sum() == int64_t{n} * (n - 1) / 2, "10,000 × 10,000 blocks");
  rusage used{};
  require(::getrusage(RUSAGE_SELF, &used) == 0 && used.ru_maxrss < 512 << 10,
          "the sizes of 10,000 × 10,000 blocks in 512 MiB of the driver");
}

/// What tasks read of other executors' map outputs.
class RemoteReads final : public core::Listener {
 public:
  void on_events(std::span<const core::ListenerEvent> events) override {
    const std::lock_guard lock(mutex_);
    for (const core::ListenerEvent& event : events)
      if (const auto* ended = std::get_if<core::TaskEnded>(&event); ended && ended->metrics)
        bytes_ += ended->metrics->shuffle_read_remote_bytes;
    changed_.notify_all();
  }
  /// Whether it came to that; events come after their jobs.
  bool reached(int64_t bytes) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [&] { return bytes_ >= bytes; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t bytes_ = 0;
};

void every_step(Context& c, const std::string& directory) {
  narrow_steps(c);
  shuffles(c);
  large_data(c);
  stored(c);
  shared(c);
  collected(c);
  barriers(c);
  map_stages(c);
  files(c, directory);
}

/// No map output of another executor is read from its files.
void sockets(Context& c, const std::string& directory) {
  const auto reads = std::make_shared<RemoteReads>();
  c.add_listener(reads);
  every_step(c, directory);
  require(reads->reached(1'000'000), "a megabyte of map outputs through sockets");
}

int run(Context& c, std::span<const std::string> args) {
  const std::string more = args.size() > 1 ? args[1] : "";
  if (more == "wide")
    wide(c);
  else if (more == "collected")
    collected(c);
  else if (more == "sockets")
    sockets(c, args[0]);
  else if (more == "kept")
    kept(c, args[0]);
  else
    every_step(c, args[0]);
  if (more == "shipped") shipped(c, args[0], args[2]);
  std::printf("all steps: right results\n");
  return 0;
}

TINDERBOX_APPLICATION(engine,
                      "check every kind of step: DIRECTORY [shipped "
                      "ARCHIVE|wide|collected|sockets|kept]",
                      run);

}  // namespace
