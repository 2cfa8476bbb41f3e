// Limits of control groups, of hierarchies made for the test, and what the kernel says of processes
// that it ended for memory.
#include "net/process/control_group.hpp"

#include "net/process/environment.hpp"
#include "tests/net/temp_dir.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using net::GroupLimits;

TEST_CASE("the least limit of a process's control groups counts, of either version") {
  struct Case {
    const char* name;
    const char* groups;
    std::map<std::string, std::string> files;
    GroupLimits want;
  };
  const Case cases[] = {
      {"no limits", "0::/a\n", {{"a/memory.max", "max\n"}, {"a/cpu.max", "max 100000\n"}}, {}},
      {"nothing is mounted", "0::/a\n", {}, {}},
      {"of the process's own group",
       "0::/a/b\n",
       {{"a/b/memory.max", "1048576\n"}, {"a/b/cpu.max", "150000 100000\n"}},
       {1 << 20, 1.5}},
      {"of a group above it",
       "0::/a/b\n",
       {{"a/b/memory.max", "max\n"}, {"a/memory.max", "4096\n"}, {"a/cpu.max", "25000 50000\n"}},
       {4096, 0.5}},
      {"the least of several",
       "0::/a/b\n",
       {{"a/b/memory.max", "8192\n"}, {"a/memory.max", "4096\n"}, {"memory.max", "16384\n"}},
       {4096, {}}},
      {"a path of the host, seen from a container",
       "0::/../../elsewhere\n",
       {{"memory.max", "4096\n"}, {"cpu.max", "200000 100000\n"}},
       {4096, 2.0}},
      {"the first version",
       "5:cpu:/x\n4:memory:/y/z\n",
       {{"memory/y/z/memory.limit_in_bytes", "9223372036854771712\n"},
        {"memory/y/memory.limit_in_bytes", "4096\n"},
        {"cpu/x/cpu.cfs_quota_us", "300000\n"},
        {"cpu/x/cpu.cfs_period_us", "100000\n"}},
       {4096, 3.0}},
      {"the first version without a quota",
       "5:cpu,cpuacct:/\n",
       {{"cpu,cpuacct/cpu.cfs_quota_us", "-1\n"}, {"cpu,cpuacct/cpu.cfs_period_us", "100000\n"}},
       {}},
      {"what is no number", "0::/\n", {{"memory.max", "many\n"}, {"cpu.max", "1\n"}}, {}},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    const test::TempDir root;
    for (const auto& [name, text] : c.files) {
      std::filesystem::create_directories(
          std::filesystem::path(root.path + "/" + name).parent_path());
      (void)root.file(name, text);
    }
    CHECK(net::group_limits(c.groups, root.path) == c.want);
  }
}

TEST_CASE("a begun processor of a control group's share is one that may be used") {
  const int all = net::available_processors({});
  CHECK(net::available_processors({{}, 1.5}) == std::min(2, all));
  CHECK(net::available_processors({{}, 1.0}) == 1);
  CHECK(net::available_processors({{}, 0.01}) == 1);
  CHECK(net::available_processors({{}, all + 0.5}) == all);
  CHECK(net::available_processors({1, {}}) == all);
}

TEST_CASE("kills for memory are counted as the control group says") {
  struct Case {
    const char* text;
    std::optional<int64_t> want;
  };
  for (const Case& c : {Case{"low 0\nhigh 1\nmax 7\noom 3\noom_kill 2\noom_group_kill 9\n", 2},
                        {"oom_kill_disable 0\nunder_oom 0\noom_kill 4", 4},
                        {"oom_kill 0\n", 0},
                        {"oom_kill x\n", {}},
                        {"", {}}}) {
    CAPTURE(c.text);
    CHECK(net::oom_kills_in(c.text) == c.want);
  }
}

TEST_CASE("a kill for memory counts for one child that lived then and ended by SIGKILL") {
  net::MemoryKills kills;
  kills.started(1, 0);
  kills.started(2, 0);
  CHECK(kills.ended(1, true, 1));
  CHECK_FALSE(kills.ended(2, true, 1));  // that was the other one

  kills.started(3, 5);  // there were kills before its life
  kills.started(4, 5);
  kills.started(5, 5);
  CHECK(kills.ended(3, true, 7));  // two at once
  CHECK(kills.ended(4, true, 7));
  CHECK_FALSE(kills.ended(5, true, 7));

  kills.started(6, 7);
  kills.started(7, 7);
  CHECK_FALSE(kills.ended(6, false, 8));  // before the one that was meant is gone
  CHECK(kills.ended(7, true, 8));

  kills.started(8, {});
  CHECK_FALSE(kills.ended(8, true, 9));
  kills.started(9, 8);
  CHECK_FALSE(kills.ended(9, true, {}));
}
