// build/tests/sim: runs seeds, replays one, shrinks what fails, says which paths were reached.
//
//   sim --seeds N [--first S] [--jobs J] [--brief]
//                                          runs the known seeds, then N from S on J processes; exit
//                                          code 1 when one
//                                          fails, or when a path is reached by under 2 % of them,
//                                          of fewer than 10,000 beyond what chance explains;
//                                          brief: what fails is named and not cut down
//   sim --seed S [--trace]                 runs one, with every message and event
//   sim --plan S                           prints what the seed is about
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "net/log.hpp"
#include "tests/sim/cluster.hpp"
#include "tests/sim/scenario/known_seeds.hpp"
#include "tests/sim/scenario/shrink.hpp"

namespace tinderbox::sim {
namespace {

/// A path that fewer seeds reach is as good as untested.
constexpr double kLeastShare = 0.02;
/// So many seeds say what the share is; fewer may have met it too seldom by chance.
constexpr uint64_t kEnoughSeeds = 10'000;
constexpr double kByChance = 0.001;
/// A run of milliseconds that goes on for so long has no end: the signal makes it one that crashed.
constexpr unsigned kMostSeconds = 30;
/// Unit: seconds of processor time, as machines may stand still.
void end_after(unsigned seconds) {
  const itimerval limit{{0, 0}, {static_cast<time_t>(seconds), 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
}
/// Seeds that are run twice, to see that a seed means one run.
constexpr uint64_t kReplayed = 50;
constexpr uint64_t kNoSeed = ~uint64_t{0};

/// What one process says of its share of the seeds; goes through a pipe as it is.
struct Tally {
  uint64_t seeds = 0, steps = 0;
  uint64_t failed = kNoSeed;  // it stopped there
  uint64_t paths[kPaths] = {};
  uint64_t faults[kFaultKinds] = {};
  char check[512] = {};
};

void add(Tally& tally, const Outcome& outcome) {
  ++tally.seeds;
  tally.steps += outcome.steps;
  for (size_t i = 0; i < kPaths; ++i) tally.paths[i] += outcome.paths[i];
  for (size_t i = 0; i < kFaultKinds; ++i) tally.faults[i] += outcome.faults[i];
}

Outcome run_seed(uint64_t seed) {
  const Scenario scenario = make_scenario(seed);
  Outcome outcome = run(scenario, false);
  if (outcome.check.empty() && seed % 100 < kReplayed / 10 &&
      run(scenario, false).digest != outcome.digest) {
    outcome.check = "not deterministic";
    outcome.detail = "two runs of the seed differ";
  }
  return outcome;
}

/// The lowest seed that failed so far: shared by the processes, none goes on beyond it.
using LowestFailed = std::atomic<uint64_t>;

LowestFailed& shared_lowest() {
  void* const memory = ::mmap(nullptr, sizeof(LowestFailed), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::exit(2);
  return *new (memory) LowestFailed(kNoSeed);
}

/// Runs `work` in a process of its own: one that crashes is a failing seed, not the end of all.
/// The tally's `failed` is set before each seed, so that it names the one that crashed.
struct Child {
  pid_t pid = 0;
  int from = -1;
};

struct Share {
  uint64_t first = 0, end = 0, step = 1;
};

Tally run_share(const Share& share, LowestFailed& lowest, int out) {
  Tally tally;
  for (uint64_t seed = share.first; seed < share.end && seed < lowest; seed += share.step) {
    if (::write(out, &seed, sizeof seed) != sizeof seed) std::_Exit(3);
    end_after(kMostSeconds);
    const Outcome outcome = run_seed(seed);
    add(tally, outcome);
    if (outcome.check.empty()) continue;
    tally.failed = seed;
    if (seed < lowest) lowest = seed;
    std::snprintf(tally.check, sizeof tally.check, "%s", outcome.detail.c_str());
    break;
  }
  return tally;
}

Child start_share(const Share& share, LowestFailed& lowest) {
  int pipe[2];
  if (::pipe(pipe) != 0) std::exit(2);
  std::fflush(stdout);
  const pid_t pid = ::fork();
  if (pid != 0) {
    ::close(pipe[1]);
    return {pid, pipe[0]};
  }
  ::close(pipe[0]);
  const Tally tally = run_share(share, lowest, pipe[1]);
  const uint64_t mark = kNoSeed;
  const bool said = ::write(pipe[1], &mark, sizeof mark) == sizeof mark &&
                    ::write(pipe[1], &tally, sizeof tally) == sizeof tally;
  std::_Exit(said ? 0 : 3);
}

bool read_all(int from, void* to, size_t size) {
  for (size_t got = 0; got < size;) {
    const ssize_t n = ::read(from, static_cast<char*>(to) + got, size - got);
    if (n <= 0) return false;
    got += static_cast<size_t>(n);
  }
  return true;
}

Tally await(const Child& child) {
  Tally tally;
  uint64_t seed = kNoSeed, last = kNoSeed;
  while (read_all(child.from, &seed, sizeof seed) && seed != kNoSeed) last = seed;
  if (seed != kNoSeed || !read_all(child.from, &tally, sizeof tally)) {
    tally = {};
    tally.failed = last;
    std::snprintf(tally.check, sizeof tally.check,
                  "the process crashed, or did not come to an end");
  }
  ::close(child.from);
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  return tally;
}

/// How a scenario fails, found out in a process of its own. Empty: it does not.
std::string how_it_fails(const Scenario& scenario) {
  int pipe[2];
  if (::pipe(pipe) != 0) std::exit(2);
  std::fflush(stdout);
  const pid_t pid = ::fork();
  if (pid == 0) {
    end_after(kMostSeconds);
    const Outcome outcome = run(scenario, false);
    (void)!::write(pipe[1], outcome.check.data(), outcome.check.size());
    std::_Exit(0);
  }
  ::close(pipe[1]);
  char text[256] = {};
  const ssize_t n = ::read(pipe[0], text, sizeof text);
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF) return "no end";
  if (status != 0) return "crash";
  return std::string(text, n > 0 ? static_cast<size_t>(n) : 0);
}

/// Every message and event of a run, in a file beside the binary. Returns its name.
std::string leave_trace(const Scenario& scenario) {
  const std::string file = std::filesystem::read_symlink("/proc/self/exe").parent_path() /
                           ("sim-" + std::to_string(scenario.seed) + ".trace");
  std::fflush(stdout);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int to = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (to < 0 || ::dup2(to, STDERR_FILENO) < 0) std::_Exit(3);
    end_after(1);  // of one without end the beginning is enough
    (void)net::set_log_level("INFO");
    const Outcome outcome = run(scenario, true);
    std::fprintf(stderr, "%s\n", outcome.detail.c_str());
    std::fflush(stderr);
    std::_Exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return file;
}

void explain(uint64_t seed, const std::string& detail) {
  const Scenario scenario = make_scenario(seed);
  std::printf("FAILED %s\n%s", detail.c_str(), describe(scenario).c_str());
  const std::string check = how_it_fails(scenario);
  if (check.empty()) return;
  const Scenario small =
      shrink(scenario, [&](const Scenario& s) { return how_it_fails(s) == check; });
  std::printf("smallest that fails with \"%s\":\n%sits trace: %s\nreplay: make sim SEED=%llu\n",
              check.c_str(), describe(small).c_str(), leave_trace(small).c_str(),
              static_cast<unsigned long long>(seed));
}

/// What is reached by fewer of the seeds is reached too seldom. Of few seeds: what the least share
/// gives with the probability kByChance, or less.
uint64_t least_of(uint64_t seeds) {
  const auto n = static_cast<double>(seeds);
  if (seeds >= kEnoughSeeds) return static_cast<uint64_t>(std::ceil(n * kLeastShare));
  double exactly = std::pow(1 - kLeastShare, n), up_to = exactly;
  uint64_t count = 0;
  for (; up_to < kByChance; up_to += exactly) {
    const auto k = static_cast<double>(count++);
    exactly *= (n - k) / (k + 1) * kLeastShare / (1 - kLeastShare);
  }
  return count;
}

bool print_shares(const char* title, size_t count, const uint64_t* reached, uint64_t seeds,
                  const char* (*name)(size_t)) {
  bool enough = true;
  const uint64_t least = least_of(seeds);
  std::printf("%s\n", title);
  for (size_t i = 0; i < count; ++i) {
    const bool low = reached[i] < least;
    enough = enough && !low;
    std::printf("  %-32s %5.1f %%%s\n", name(i),
                100.0 * static_cast<double>(reached[i]) / static_cast<double>(seeds),
                low ? "  too few" : "");
  }
  return enough;
}

void report(uint64_t seed, const std::string& detail, bool brief) {
  if (brief)
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), detail.c_str());
  else
    explain(seed, detail);
}

/// False: one of those that once found something fails.
bool known_hold(bool brief) {
  for (const KnownSeed& known : kKnownSeeds) {
    const std::string check = how_it_fails(make_scenario(known.seed));
    if (check.empty()) {
      std::printf("seed %llu, found %s: held\n", static_cast<unsigned long long>(known.seed),
                  known.found);
      continue;
    }
    std::printf("found before: %s; kept by \"%s\"\n", known.found, known.kept_by);
    report(known.seed, check, brief);
    return false;
  }
  return true;
}

int run_seeds(uint64_t first, uint64_t count, uint64_t jobs, bool brief) {
  if (!known_hold(brief)) return 1;
  std::vector<Child> children;
  LowestFailed& lowest = shared_lowest();
  for (uint64_t j = 0; j < jobs; ++j)
    children.push_back(start_share({first + j, first + count, jobs}, lowest));
  Tally all;
  for (const Child& child : children) {
    const Tally tally = await(child);
    all.seeds += tally.seeds;
    all.steps += tally.steps;
    for (size_t i = 0; i < kPaths; ++i) all.paths[i] += tally.paths[i];
    for (size_t i = 0; i < kFaultKinds; ++i) all.faults[i] += tally.faults[i];
    if (tally.failed < all.failed) {
      all.failed = tally.failed;
      std::memcpy(all.check, tally.check, sizeof all.check);
    }
  }
  if (all.failed != kNoSeed) {
    report(all.failed, all.check, brief);
    return 1;
  }
  const auto fault = [](size_t i) { return name_of(static_cast<Fault::Kind>(i)); };
  const auto path = [](size_t i) { return name_of(static_cast<Path>(i)); };
  const bool faults = print_shares("faults", kFaultKinds, all.faults, all.seeds, fault);
  const bool paths = print_shares("paths", kPaths, all.paths, all.seeds, path);
  std::printf("%llu seeds from %llu, %llu steps: all held\n",
              static_cast<unsigned long long>(all.seeds), static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(all.steps));
  return faults && paths ? 0 : 1;
}

int run_one(uint64_t seed, bool traced) {
  const Scenario scenario = make_scenario(seed);
  std::printf("%s", describe(scenario).c_str());
  std::fflush(stdout);
  const Outcome outcome = run(scenario, traced);
  std::printf("%s, %llu steps\n", outcome.check.empty() ? "all held" : outcome.detail.c_str(),
              static_cast<unsigned long long>(outcome.steps));
  return outcome.check.empty() ? 0 : 1;
}

int usage() {
  std::fprintf(
      stderr,
      "usage: sim --seeds N [--first S] [--jobs J] [--brief] | --seed S [--trace] | --plan S\n");
  return 2;
}

int main(int argc, char** argv) {
  uint64_t seeds = 0, first = 1, jobs = 2, seed = kNoSeed, plan = kNoSeed;
  bool traced = false, brief = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--trace") {
      traced = true;
      continue;
    }
    if (option == "--brief") {
      brief = true;
      continue;
    }
    if (i + 1 == argc) return usage();
    const uint64_t value = std::strtoull(argv[++i], nullptr, 10);
    if (option == "--seeds")
      seeds = value;
    else if (option == "--first")
      first = value;
    else if (option == "--jobs")
      jobs = value;
    else if (option == "--seed")
      seed = value;
    else if (option == "--plan")
      plan = value;
    else
      return usage();
  }
  (void)net::set_log_level(traced ? "INFO" : "OFF");
  if (plan != kNoSeed) {
    std::printf("%s", describe(make_scenario(plan)).c_str());
    return 0;
  }
  if (seed != kNoSeed) return run_one(seed, traced);
  return seeds == 0 || jobs == 0 ? usage() : run_seeds(first, seeds, jobs, brief);
}

}  // namespace
}  // namespace tinderbox::sim

int main(int argc, char** argv) { return tinderbox::sim::main(argc, argv); }
