// An application that reads and writes wherever it is told: stores STEP ARGUMENTS…. Run by
// s3_test.sh and, with outputs on disks, by faults_test.sh of tests/processes/cluster.
#include <signal.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <thread>

#include "core/api/tinderbox.hpp"

namespace {

using namespace tinderbox;
using Args = std::span<const std::string>;

void require(bool ok, const std::string& what) {
  if (!ok) throw std::runtime_error("STORES TEST: " + what);
}

int64_t number(std::string_view text) {
  int64_t n = -1;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

/// IN PARTS LINES: lines 1 … LINES are there, each once.
void once(Context& context, Args args) {
  const auto wanted = number(args[2]);
  auto lines = context.text_file(args[0], static_cast<int32_t>(number(args[1])));
  auto counts = lines.map([](std::string_view l) { return std::pair(number(l), int64_t{1}); })
                    .reduce_by_key([](int64_t a, int64_t b) { return a + b; });
  require(counts.count() == wanted, std::to_string(counts.count()) + " different lines");
  require(
      counts.filter([](const std::pair<int64_t, int64_t>& c) { return c.second != 1; }).is_empty(),
      "a line was read twice");
  require(lines.count() == wanted, "lines that are no numbers");
  std::printf("%d partitions\n", lines.num_partitions());
}

/// OUT: what is written compressed, as objects, as keys with values, checkpointed, is read back.
void kinds(Context& context, Args args) {
  const std::string& out = args[0];
  auto numbers = context.range(1, 200001, 1, 3);
  for (const Compression how : {Compression::Gzip, Compression::Zstd}) {
    const std::string place = out + (how == Compression::Gzip ? "/gz" : "/zst");
    numbers.save_as_text_file(place, how);
    require(context.text_file(place)
                    .map([](std::string_view l) { return number(l); })
                    .reduce([](int64_t a, int64_t b) { return a + b; }) == 20000100000,
            "other numbers in " + place);
  }
  numbers.save_as_object_file(out + "/objects");
  require(context.object_file<int64_t>(out + "/objects").collect() == numbers.collect(),
          "other objects");
  auto pairs = numbers.map([](int64_t x) { return std::pair(x, std::to_string(x * x)); });
  pairs.save_as_sequence_file(out + "/sequence", Compression::Gzip);
  require(
      context.sequence_file<int64_t, std::string>(out + "/sequence").collect() == pairs.collect(),
      "other keys and values");
  require(context.whole_text_files(out + "/gz").count() == 3, "not three whole files");
  require(context.binary_files(out + "/objects").keys().count() == 3, "not three binary files");
  context.set_checkpoint_dir(out + "/checkpoints");
  auto squares = numbers.map([](int64_t x) { return x * x; });
  squares.checkpoint();
  require(squares.count() == 200000 && squares.is_checkpointed(), "no checkpoint");
  require(squares.take(3) == std::vector<int64_t>{1, 4, 9}, "another checkpoint");
}

/// IN LENGTH: how many records.
void records(Context& context, Args args) {
  std::printf("%lld records\n",
              static_cast<long long>(context.binary_records(args[0], number(args[1])).count()));
}

/// Two partitions of 20 MB of numbered lines; the first attempts at the second one end as `Fault`
/// says after 18 MB, when a part of an upload to a store was sent.
template <class Fault>
Rdd<std::string> disturbed_lines(Context& context) {
  return context.range(0, 2000000, 1, 2).map([](int64_t x) {
    if (x == 1900000) Fault{}(TaskContext::current()->attempt);
    return std::to_string(x + 1) + " and filling so";
  });
}
template <class Fault>
void disturbed(Context& context, const std::string& out, Fault) {
  disturbed_lines<Fault>(context).save_as_text_file(out);
}
/// The same as objects and as keys with values: what is read back is whole.
template <class Fault>
void disturbed_kinds(Context& context, const std::string& out, Fault) {
  const auto whole = [](const auto& lines) {
    return lines.count() == 2000000 &&
           lines.map([](const auto& l) { return number(l); }).sum() == 2000001000000;
  };
  const auto lines = disturbed_lines<Fault>(context);
  lines.save_as_object_file(out + "/objects");
  require(whole(context.object_file<std::string>(out + "/objects")), "other objects");
  lines.map([](const std::string& l) { return std::pair(number(l), l); })
      .save_as_sequence_file(out + "/sequence");
  const auto pairs = context.sequence_file<int64_t, std::string>(out + "/sequence");
  require(whole(pairs.values()) && pairs.keys().sum() == 2000001000000, "other keys or values");
}
struct Throws {
  void operator()(int32_t attempt) const {
    if (attempt == 0) throw std::runtime_error("the first attempt fails");
  }
};
struct AlwaysThrows {
  void operator()(int32_t) const { throw std::runtime_error("every attempt fails"); }
};
struct Dies {
  void operator()(int32_t attempt) const {
    if (attempt == 0) raise(SIGKILL);
  }
};
/// Until the other attempt is done and this one is killed.
struct Lingers {
  void operator()(int32_t attempt) const {
    while (attempt == 0 && !TaskContext::current()->killed)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
};

int run(Context& context, Args args) {
  require(args.size() >= 2, "stores STEP ARGUMENTS…");
  const std::map<std::string, void (*)(Context&, Args)> steps{
      {"once", once},
      {"kinds", kinds},
      {"records", records},
      {"throws", [](Context& c, Args a) { disturbed(c, a[0], Throws{}); }},
      {"always-throws", [](Context& c, Args a) { disturbed(c, a[0], AlwaysThrows{}); }},
      {"dies", [](Context& c, Args a) { disturbed(c, a[0], Dies{}); }},
      {"kinds-throw", [](Context& c, Args a) { disturbed_kinds(c, a[0], Throws{}); }},
      {"kinds-die", [](Context& c, Args a) { disturbed_kinds(c, a[0], Dies{}); }},
      {"kinds-linger", [](Context& c, Args a) { disturbed_kinds(c, a[0], Lingers{}); }},
      {"lingers", [](Context& c, Args a) { disturbed(c, a[0], Lingers{}); }}};
  steps.at(args[0])(context, args.subspan(1));
  std::printf("%s: right\n", args[0].c_str());
  return 0;
}
TINDERBOX_APPLICATION(stores, "reads and writes wherever it is told: STEP ARGUMENTS…", run);

}  // namespace
