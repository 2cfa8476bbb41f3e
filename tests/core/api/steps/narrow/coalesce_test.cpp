// R11: which partitions coalesce() joins where they have locations.
#include "core/api/steps/narrow/coalesce.hpp"

#include <algorithm>
#include <map>

#include "tests/core/api/values.hpp"

using namespace tinderbox;
using namespace tinderbox::tests;
using core::Coalesced;
using core::coalesced;
using core::Random;

namespace {

constexpr uint64_t kSeed = 5;
using Hosts = std::vector<std::vector<std::string>>;

/// Partitions that lie on some of `machines`; every `bare`th one nowhere.
Hosts random_hosts(size_t partitions, size_t each, uint64_t machines, size_t bare) {
  Random random(kSeed, 1);
  Hosts hosts(partitions);
  for (size_t p = 0; p < partitions; ++p)
    while ((bare == 0 || p % bare != 0) && hosts[p].size() < each) {
      const std::string host = "m" + std::to_string(random.below(machines));
      if (std::ranges::find(hosts[p], host) == hosts[p].end()) hosts[p].push_back(host);
    }
  return hosts;
}

/// All partitions once, groups ascending and not empty. Returns how many lie where their group is.
size_t check_groups(const Coalesced& made, const Hosts& hosts, size_t n) {
  CHECK(made.groups.size() == n);
  CHECK(made.preferred.size() == n);
  std::vector<int32_t> all;
  size_t at_home = 0;
  for (size_t g = 0; g < made.groups.size(); ++g) {
    CHECK_FALSE(made.groups[g].empty());
    CHECK(std::ranges::is_sorted(made.groups[g]));
    for (const int32_t p : made.groups[g]) {
      all.push_back(p);
      const auto& of = hosts[static_cast<size_t>(p)];
      at_home += std::ranges::find(of, made.preferred[g].at(0)) != of.end() ? 1 : 0;
    }
  }
  std::ranges::sort(all);
  CHECK(all == core::partition_range(0, static_cast<int32_t>(hosts.size())));
  return at_home;
}

void check_sizes(const Coalesced& made, size_t least, size_t most) {
  for (const auto& group : made.groups) {
    CHECK(group.size() >= least);
    CHECK(group.size() <= most);
  }
}

}  // namespace

TEST_CASE("R11 coalesce by location: even groups, nearly all at home", "[rdd]") {
  const Hosts hosts = random_hosts(10000, 3, 50, 0);
  const Coalesced made = coalesced(hosts, 100);
  CHECK(check_groups(made, hosts, 100) >= 9000);
  check_sizes(made, 80, 120);
}

TEST_CASE("R11 partitions without a location fill what is small", "[rdd]") {
  const Hosts hosts = random_hosts(10000, 3, 50, 2);
  const Coalesced made = coalesced(hosts, 100);
  CHECK(check_groups(made, hosts, 100) >= 4500);
  check_sizes(made, 80, 120);
}

TEST_CASE("R11 two hosts have groups for their parts; one host has all", "[rdd]") {
  Hosts two(100);
  for (size_t p = 0; p < two.size(); ++p) two[p] = {p % 2 ? "m1" : "m2"};
  const Coalesced made = coalesced(two, 50);
  CHECK(check_groups(made, two, 50) == 100);
  std::map<std::string, size_t> groups;
  for (const auto& at : made.preferred) ++groups[at.at(0)];
  CHECK(groups["m1"] > 20);
  CHECK(groups["m2"] > 20);

  Hosts first_alike = random_hosts(100, 1, 20, 0);
  for (size_t p = 0; p < 60; ++p) first_alike[p] = {"m1"};
  check_groups(coalesced(first_alike, 50), first_alike, 50);
  Hosts one(100);
  one[7] = {"m1"};
  const Coalesced nearly_none = coalesced(one, 9);
  check_groups(nearly_none, one, 9);
  check_sizes(nearly_none, 11, 12);
}

TEST_CASE("R11 random shapes: nothing is lost, doubled or empty", "[rdd]") {
  Random random(kSeed, 2);
  for (int round = 0; round < 300; ++round) {
    const size_t partitions = 1 + random.below(60);
    const auto n = static_cast<int32_t>(1 + random.below(70));
    INFO("round " << round << ": " << partitions << " partitions, " << n << " groups");
    const Hosts hosts = random_hosts(partitions, 1 + random.below(3), 3 + random.below(40),
                                     random.below(2) ? 0 : 2 + random.below(3));
    if (std::ranges::all_of(hosts, [](const auto& of) { return of.empty(); })) continue;
    check_groups(coalesced(hosts, n), hosts, std::min<size_t>(partitions, static_cast<size_t>(n)));
  }
}

TEST_CASE("R11 coalesce looks for locations in what a partition is computed from", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::vector<std::pair<int, std::vector<std::string>>> values = {
      {1, {"a"}}, {2, {"b"}}, {3, {"c"}}, {4, {"a"}}, {5, {"b"}}, {6, {"c"}}};
  const auto plus_one = context.make_rdd(values).map([](int x) { return x + 1; });
  const auto joined = plus_one.coalesce(3);
  CHECK(joined.glom().collect() == std::vector<std::vector<int>>{{2, 5}, {3, 6}, {4, 7}});
  CHECK(joined.node()->preferred == Hosts{{"a"}, {"b"}, {"c"}});
  CHECK(plus_one.coalesce(20).num_partitions() == 6);
}
