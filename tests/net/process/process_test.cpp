// Processes with real children: this test program itself, told by a variable of its environment to
// be one.
#include "net/process/process.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <thread>

#include "net/process/elf.hpp"
#include "tests/net/process/forked.hpp"
#include "tests/net/temp_dir.hpp"

using namespace tinderbox;
using tinderbox::test::slurp;
using tinderbox::test::TempDir;
using tinderbox::test::wait_readable;
namespace fs = std::filesystem;

namespace {

net::SpawnSpec child(uint64_t ticket, const std::string& mode, const std::string& directory) {
  net::SpawnSpec spec;
  spec.ticket = ticket;
  spec.file = net::own_path();
  spec.arguments = {"executor"};
  spec.environment = {{"PROCESS_TEST_CHILD", mode}};
  spec.directory = directory;
  return spec;
}

/// A loop with Processes on it that records what happens and stops when nothing is left.
struct World {
  explicit World(net::PeerFile peer = {})
      : loop(net::make_poll_loop()),
        processes(
            *loop,
            {[this](uint64_t t, Result<int64_t> pid) { started(t, std::move(pid)); },
             [this](uint64_t t, net::ChildEnd end) {
               exits[t] = end.status;
               if (end.signalled) signalled.insert(t);
               done();
             }},
            [](std::string_view text) { return text == "" ? "" : std::string(text) + " hidden"; },
            std::move(peer)) {
    loop->after(std::chrono::seconds(60), [this] {
      timed_out = true;
      loop->stop();
    });
  }
  void started(uint64_t ticket, Result<int64_t> pid) {
    if (pid)
      pids[ticket] = *pid;
    else
      errors[ticket] = pid.error().message;
    if (on_started) on_started(ticket);
    done();
  }
  void done() {
    if (processes.count() == 0 && pids.size() == exits.size()) loop->stop();
  }
  void run() {
    loop->run();
    REQUIRE_FALSE(timed_out);
  }

  std::unique_ptr<net::PollLoop> loop;
  std::map<uint64_t, int64_t> pids;
  std::map<uint64_t, std::string> errors;
  std::map<uint64_t, int32_t> exits;
  std::set<uint64_t> signalled;
  std::function<void(uint64_t)> on_started;
  bool timed_out = false;
  net::Processes processes;
};

void report() {
  std::istringstream cmdline(slurp("/proc/self/cmdline"));
  for (std::string a; std::getline(cmdline, a, '\0');) std::cout << "arg " << a << "\n";
  std::cout << "cwd " << fs::current_path().string() << "\n";
  std::cout << "group " << (getpgrp() == getpid()) << "\n";
  std::set<std::string> fds;
  for (auto& e : fs::directory_iterator("/proc/self/fd")) fds.insert(e.path().filename());
  std::cout << "fds";
  for (auto& fd : fds)
    if (fcntl(std::stoi(fd), F_GETFD) >= 0) std::cout << " " << fd;
  std::cout << "\n";
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigBlk")) std::cout << line << "\n";
  struct sigaction action {};
  sigaction(SIGUSR1, nullptr, &action);
  std::cout << "ignored " << (action.sa_handler == SIG_IGN) << "\n";
  std::cout << "properties " << slurp("/proc/self/fd/3") << "\n";
  std::cout << "stdin " << slurp("/proc/self/fd/0").size() << "\n" << std::flush;
  std::cerr << "to stderr\n";
}

/// Starts a sleeping grandchild and waits for its own death.
void be_parent() {
  World world;
  world.on_started = [&](uint64_t) { std::cout << world.pids[1] << "\n" << std::flush; };
  world.processes.spawn(child(1, "sleep", fs::current_path().string() + "/inner"));
  world.loop->run();
}

bool run_as_child() {
  const char* mode = std::getenv("PROCESS_TEST_CHILD");
  if (mode == nullptr) return false;
  std::string m = mode;
  if (m == "report") report();
  if (m == "sleep") pause();
  if (m == "killed") raise(SIGKILL);
  if (m == "parent") be_parent();
  if (m == "leaves") {
    if (fork() == 0) pause();  // would live on
    _exit(0);
  }
  _exit(m.starts_with("exit") ? std::atoi(m.c_str() + 4) : 0);
}
const bool kChild = run_as_child();

}  // namespace

TEST_CASE("a child has its arguments, directory, files and nothing else of its parent") {
  TempDir dir;
  World world;
  int leak = open("/dev/null", O_RDONLY);  // not close-on-exec
  signal(SIGUSR1, SIG_IGN);
  net::SpawnSpec spec = child(1, "report", dir.path + "/app-1/0");
  spec.arguments = {"executor", "--cores", "2"};
  spec.properties = "spark.a=b\n";
  world.processes.spawn(spec);
  CHECK(world.pids.empty());
  world.run();
  signal(SIGUSR1, SIG_DFL);
  close(leak);
  REQUIRE(world.exits == std::map<uint64_t, int32_t>{{1, 0}});
  std::string out = slurp(dir.path + "/app-1/0/stdout");
  CAPTURE(out);
  CHECK(out.starts_with("arg " + net::own_path() +
                        "\narg executor\narg --properties-file\narg /proc/self/fd/3\narg --cores\n"
                        "arg 2\ncwd " +
                        dir.path + "/app-1/0\ngroup 1\nfds 0 1 2 3\n"));
  CHECK(out.find("SigBlk:\t0000000000000000") != std::string::npos);
  CHECK(out.find("ignored 0\n") != std::string::npos);
  CHECK(out.find("properties spark.a=b\n") != std::string::npos);
  CHECK(out.ends_with("stdin 0\n"));
  std::string err = slurp(dir.path + "/app-1/0/stderr");
  CAPTURE(err);
  CHECK(err ==
        "Spark Executor Command: \"" + net::own_path() +
            "\" \"executor\" \"--properties-file\" \"/proc/self/fd/3\" \"--cores\" \"2\" hidden\n" +
            std::string(40, '=') + "\n\nto stderr\n");
}

TEST_CASE("a child's end is its exit code or 128 + signal") {
  TempDir dir;
  World world;
  world.processes.spawn(child(1, "exit0", dir.path + "/1"));
  world.processes.spawn(child(2, "exit56", dir.path + "/2"));
  world.processes.spawn(child(3, "killed", dir.path + "/3"));
  world.processes.spawn(child(4, "sleep", dir.path + "/4"));
  world.processes.spawn(child(5, "sleep", dir.path + "/5"));
  world.on_started = [&](uint64_t t) {
    if (t == 4) world.processes.signal(4, SIGTERM);
    if (t == 5) world.processes.signal(5, SIGKILL);
    world.processes.signal(99, SIGTERM);
  };
  world.run();
  CHECK(world.exits == std::map<uint64_t, int32_t>{{1, 0}, {2, 56}, {3, 137}, {4, 143}, {5, 137}});
  CHECK(world.signalled == std::set<uint64_t>{3, 4, 5});
  CHECK(world.pids.size() == 5);
}

TEST_CASE("what a child leaves in its process group ends with it") {
  TempDir dir;
  World world;
  int64_t group = 0;
  world.on_started = [&](uint64_t t) { group = world.pids[t]; };
  world.processes.spawn(child(1, "leaves", dir.path + "/1"));
  world.run();
  // The orphan was killed before its group leader was reaped; it dies, and is reaped, when the
  // kernel comes to it.
  auto alive = [&] {
    for (auto& e : fs::directory_iterator("/proc")) {
      std::ifstream stat(e.path() / "stat");
      std::string pid, name, state, parent, pgrp;
      if (stat >> pid >> name >> state >> parent >> pgrp && pgrp == std::to_string(group) &&
          state != "Z" && state != "X")
        return true;
    }
    return false;
  };
  int tries = 10'000;
  while (alive() && --tries > 0) std::this_thread::yield();
  CHECK(tries > 0);
}

TEST_CASE("what can't be started is said in one line, with no process and no half event") {
  TempDir dir;
  World world;
  fs::create_directory(dir.path + "/there");
  std::ofstream(dir.path + "/text") << "hello";
  world.processes.spawn(child(1, "exit0", dir.path + "/there"));
  auto bad_file = child(2, "exit0", dir.path + "/2");
  bad_file.file = dir.path + "/none";
  world.processes.spawn(bad_file);
  auto bad_build = child(3, "exit0", dir.path + "/3");
  bad_build.build_id = "abcd";
  world.processes.spawn(bad_build);
  world.processes.spawn(child(4, "exit0", dir.path + "/text/x"));
  auto foreign = child(5, "exit0", dir.path + "/5");
  foreign.file = "/bin/true";
  world.processes.spawn(foreign);
  world.run();
  CHECK(world.pids.empty());
  CHECK(world.errors[1] ==
        "directory '" + dir.path + "/there' exists already: a new one was to be made");
  CHECK(world.errors[2].find("/none' does not exist") != std::string::npos);
  CHECK(world.errors[3].find("but abcd was asked for") != std::string::npos);
  CHECK(world.errors[4].find("cannot create directory") != std::string::npos);
  CHECK(world.errors[5].find("is not a tinderbox application") != std::string::npos);
}

TEST_CASE("a second start in a directory of ours appends: a supervised driver") {
  TempDir dir;
  World world;
  int runs = 0;
  world.on_started = [&](uint64_t) {
    if (++runs < 3) world.processes.spawn(child(uint64_t(runs + 1), "exit1", dir.path + "/driver"));
  };
  world.processes.spawn(child(1, "exit1", dir.path + "/driver"));
  world.run();
  CHECK(world.exits.size() == 3);
  std::string err = slurp(dir.path + "/driver/stderr");
  CHECK(err.find("Spark Executor Command", err.find("Spark Executor Command") + 1) !=
        std::string::npos);
}

TEST_CASE("a program behind a URL is fetched first") {
  TempDir dir;
  World world([](const std::string& address, const std::string& name,
                 const net::BytesSink& sink) -> Result<int64_t> {
    if (address != "driver:7079" || name != "app") return Error{"no file " + name};
    std::string bytes = slurp(net::own_path());
    sink(bytes);
    return int64_t(bytes.size());
  });
  auto by_file = child(1, "exit3", dir.path + "/1");
  by_file.file = "file://" + net::own_path();
  auto by_peer = child(2, "exit4", dir.path + "/2");
  by_peer.file = "spark://driver:7079/files/app";
  auto missing = child(3, "exit5", dir.path + "/3");
  missing.file = "spark://driver:7079/files/other";
  for (auto& s : {by_file, by_peer, missing}) world.processes.spawn(s);
  CHECK(world.processes.count() == 3);
  world.run();
  CHECK(world.exits == std::map<uint64_t, int32_t>{{1, 3}, {2, 4}});
  CHECK(world.errors ==
        std::map<uint64_t, std::string>{{3, "'spark://driver:7079/files/other': no file other"}});
  CHECK(fs::exists(dir.path + "/2/app"));
}

TEST_CASE("a signal ends an attempt whose program is still being fetched") {
  TempDir dir;
  std::atomic<bool> fetching{false}, go{false};
  World world(
      [&](const std::string&, const std::string&, const net::BytesSink& sink) -> Result<int64_t> {
        fetching = true;
        fetching.notify_one();
        go.wait(false);
        sink("x");
        return int64_t{1};
      });
  auto spec = child(1, "exit0", dir.path + "/1");
  spec.file = "spark://driver:7079/files/app";
  world.processes.spawn(spec);
  fetching.wait(false);
  world.processes.signal(1, SIGTERM);
  go = true;
  go.notify_one();
  world.run();
  CHECK(world.errors[1] == "it was killed before it started");
}

TEST_CASE("children die with their parent, even by kill -9") {
  TempDir dir;
  World world;
  world.processes.spawn(child(1, "parent", dir.path + "/1"));
  int grandchild = -1;
  std::function<void()> look = [&] {
    std::ifstream out(dir.path + "/1/stdout");
    int64_t pid = 0;
    if (!(out >> pid) || out.peek() != '\n')
      return world.loop->after(std::chrono::milliseconds(2), look);
    grandchild = int(syscall(SYS_pidfd_open, pid, 0));
    world.processes.signal(1, SIGKILL);
  };
  world.loop->after(Duration(0), look);
  world.run();
  REQUIRE(grandchild >= 0);
  CHECK(wait_readable(grandchild, 20000));  // a pidfd is readable when its process has ended
  close(grandchild);
}

TEST_CASE("many threads that allocate and spawn don't harm each other") {
  TempDir dir;
  std::atomic<bool> over{false};
  std::vector<std::thread> noise;
  for (int t = 0; t < 2; ++t)
    noise.emplace_back([&] {
      while (!over) std::vector<std::string>(100, std::string(500, 'x'));
    });
  std::vector<std::thread> spawners;
  std::atomic<int> good{0};
  for (int t = 0; t < 3; ++t)
    spawners.emplace_back([&, t] {
      World world;
      for (uint64_t i = 0; i < 30; ++i)
        world.processes.spawn(child(i, "exit" + std::to_string(i),
                                    dir.path + "/" + std::to_string(t) + "-" + std::to_string(i)));
      world.loop->run();
      for (auto& [ticket, status] : world.exits) good += status == int32_t(ticket);
    });
  for (auto& t : spawners) t.join();
  over = true;
  for (auto& t : noise) t.join();
  CHECK(good == 90);
}
