// Pools of the fair scheduler from fairscheduler.xml. Ids are those of spec/11, sections P and S.
#include <catch2/catch.hpp>

#include "conf/keys.hpp"
#include "conf/sources/allocation_file.hpp"

using namespace tinderbox::conf;
using Catch::Matchers::Contains;

namespace {

constexpr auto kFifo = SchedulingMode::kFifo, kFair = SchedulingMode::kFair;
using Pools = std::vector<PoolSpec>;

/// `<pool name="p">` with this inside.
std::string pool(const std::string& inside) {
  return "<allocations><pool name=\"p\">" + inside + "</pool></allocations>";
}

/// Files by path; a text of "/" is a directory.
auto reader(std::map<std::string, std::string> files) {
  return [files = std::move(files)](const std::string& path) {
    FileText file;
    const auto found = files.find(path);
    if (found == files.end()) return file;
    file.kind = found->second == "/" ? FileText::Kind::kDirectory : FileText::Kind::kRegular;
    file.text = found->second;
    return file;
  };
}

}  // namespace

TEST_CASE("P4 values of a pool, and what stands in for bad ones") {
  struct Case {
    const char* name;
    std::string inside;
    PoolSpec want;
    std::vector<std::string> warned;
  };
  const auto values = [](const std::string& mode, const std::string& share, const std::string& w) {
    return "<schedulingMode>" + mode + "</schedulingMode><minShare>" + share +
           "</minShare><weight>" + w + "</weight>";
  };
  const std::vector<Case> cases = {
      {"all there", values("FAIR", "3", "2"), {"p", kFair, 3, 2}, {}},
      {"blanks and lower case", values(" fifo\n", " 3 ", "\t2"), {"p", kFifo, 3, 2}, {}},
      {"signs", values("FAIR", "+3", "-2"), {"p", kFair, 3, -2}, {}},
      {"comments and sections",
       values("<!-- x -->FA<![CDATA[IR]]>", "<!-- 7 -->3", "2"),
       {"p", kFair, 3, 2},
       {}},
      {"minShare blank", values("FAIR", " ", "2"), {"p", kFair, 0, 2}, {"minShare"}},
      {"minShare no number", values("FAIR", "x", "2"), {"p", kFair, 0, 2}, {"minShare"}},
      {"minShare too large", values("FAIR", "2147483648", "2"), {"p", kFair, 0, 2}, {"minShare"}},
      {"minShare a fraction", values("FAIR", "1.5", "2"), {"p", kFair, 0, 2}, {"minShare"}},
      {"weight blank", values("FAIR", "3", ""), {"p", kFair, 3, 1}, {"weight"}},
      {"weight no number", values("FAIR", "3", "heavy"), {"p", kFair, 3, 1}, {"weight"}},
      {"mode blank", values("", "3", "2"), {"p", kFifo, 3, 2}, {"schedulingMode"}},
      {"mode unknown", values("LIFO", "3", "2"), {"p", kFifo, 3, 2}, {"schedulingMode: LIFO"}},
      {"P8 mode NONE", values("NONE", "3", "2"), {"p", kFifo, 3, 2}, {"schedulingMode: NONE"}},
      {"nothing at all", "", {"p", kFifo, 0, 1}, {"schedulingMode", "minShare", "weight"}},
      {"twice", values("FAIR", "1", "2") + "<minShare>4</minShare>", {"p", kFair, 14, 2}, {}},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    const PoolSettings got = parse_allocations("f.xml", pool(c.inside));
    CHECK(got.pools == Pools{c.want});
    REQUIRE(got.warnings.size() == c.warned.size());
    for (size_t i = 0; i < c.warned.size(); ++i) {
      CHECK_THAT(got.warnings[i], Contains(c.warned[i]));
      CHECK_THAT(got.warnings[i], Contains("f.xml"));
      CHECK_THAT(got.warnings[i], Contains("pool: p"));
    }
  }
}

TEST_CASE("P2 P3 pools stand anywhere in the file; the last of a name counts") {
  const PoolSettings got = parse_allocations("f.xml", R"(<?xml version="1.0"?>
<!DOCTYPE allocations>
<allocations>
  <pool name="production">
    <schedulingMode>FAIR</schedulingMode><weight>1</weight><minShare>2</minShare>
    <pool name="inner"><schedulingMode>FIFO</schedulingMode><weight>5</weight><minShare>0</minShare></pool>
  </pool>
  <group><pool name="twice"><weight>7</weight></pool></group>
  <pool name="twice"><schedulingMode>FIFO</schedulingMode><weight>2</weight><minShare>3</minShare></pool>
  <queue name="no pool"/>
</allocations>)");
  CHECK(got.pools ==
        Pools{{"production", kFair, 2, 1}, {"inner", kFifo, 0, 5}, {"twice", kFifo, 3, 2}});
  CHECK(got.notes[0] == "Created pool: production, schedulingMode: FAIR, minShare: 2, weight: 1");
}

TEST_CASE("what is not XML is refused with its place") {
  struct Case {
    const char* xml;
    const char* said;
  };
  for (const Case& c :
       {Case{"", "f.xml, line 1: "}, Case{"pools", "f.xml, line 1: "},
        Case{"<a>\n<pool name='x'>\n</a>", "f.xml, line 3: "},
        Case{"<a>\n<pool name=x/></a>", "f.xml, line 2: "}, Case{"<a", "f.xml, line 1: "},
        Case{"<a/><b/>", "f.xml: there must be one root element"}}) {
    INFO(c.xml);
    CHECK_THROWS_WITH(parse_allocations("f.xml", c.xml), Catch::StartsWith(c.said));
  }
}

TEST_CASE("S31 P8 a scheduling mode is FIFO or FAIR") {
  const auto mode = [](const char* text) {
    return pool_settings(Conf().with(kSchedulerMode, text), {}, reader({})).mode;
  };
  CHECK(pool_settings(Conf(), {}, reader({})).mode == kFifo);
  CHECK(mode("FIFO") == kFifo);
  CHECK(mode("fair ") == kFair);
  CHECK_THROWS_WITH(mode("NONE"), "Unsupported spark.scheduler.mode: NONE; use FIFO or FAIR");
  CHECK_THROWS_WITH(mode(""), Contains("Unsupported spark.scheduler.mode"));
}

TEST_CASE("P9 where the pools come from") {
  const std::string one = pool("<minShare>3</minShare><weight>2</weight>");
  const Conf fair = Conf().with(kSchedulerMode, "FAIR");
  const Conf named = fair.with(kSchedulerAllocationFile, "/d/pools.xml");
  const Environment here = {{"SPARK_CONF_DIR", "/c"}};

  CHECK(pool_settings(named, here, reader({{"/d/pools.xml", one}})).pools ==
        Pools{{"p", kFifo, 3, 2}});
  const Conf by_url = fair.with(kSchedulerAllocationFile, "file:///d/pools.xml");
  CHECK(pool_settings(by_url, here, reader({{"/d/pools.xml", one}})).pools.size() == 1);
  CHECK_THROWS_WITH(pool_settings(named, here, reader({{"/c/fairscheduler.xml", one}})),
                    "spark.scheduler.allocation.file: /d/pools.xml does not exist");
  CHECK_THROWS_WITH(pool_settings(named, here, reader({{"/d/pools.xml", "/"}})),
                    "spark.scheduler.allocation.file: /d/pools.xml is not a normal file");
  CHECK_THROWS_WITH(
      pool_settings(fair.with(kSchedulerAllocationFile, "http://h/p.xml"), here, reader({})),
      Contains("http://h/p.xml is not on this machine"));

  CHECK(pool_settings(fair, here, reader({{"/c/fairscheduler.xml", one}})).pools ==
        Pools{{"p", kFifo, 3, 2}});
  CHECK(pool_settings(fair, {{"SPARK_HOME", "/h"}}, reader({{"/h/conf/fairscheduler.xml", one}}))
            .pools.size() == 1);
  const Pools only = {{"default", kFair, 0, 1}};
  CHECK(pool_settings(fair, here, reader({})).pools == only);
  CHECK(pool_settings(fair, {}, reader({{"/c/fairscheduler.xml", one}})).pools == only);
  CHECK_THROWS_WITH(pool_settings(fair, here, reader({{"/c/fairscheduler.xml", "<a>"}})),
                    Catch::StartsWith("/c/fairscheduler.xml, line 1: "));
  // Nobody reads a file in FIFO mode.
  CHECK(pool_settings(named.with(kSchedulerMode, "FIFO"), here, reader({})).pools.empty());
}
