// What a driver asks of the API server is what deploy/kubernetes/driver-role.yaml lets it do.
#include <fstream>
#include <sstream>

#include "conf/sources/yaml.hpp"
#include "tests/core/deploy/kubernetes/pods/pod_bench.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::kubernetes;
using namespace tinderbox::core::kubernetes::test;
using namespace std::chrono_literals;

namespace {

/// `resource verb` of each right.
std::set<std::string> rights_of(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  const std::string all = text.str();
  const Json role = conf::parse_yaml(all.substr(0, all.find("\n---\n")));
  std::set<std::string> rights;
  for (const Json& rule : role["rules"])
    for (const Json& resource : rule["resources"])
      for (const Json& verb : rule["verbs"])
        rights.insert(resource.get<std::string>() + " " + verb.get<std::string>());
  return rights;
}

/// `METHOD /…/namespaces/NS/KIND[/NAME[/PART]]` as the API server's authorizer sees it.
std::string right_for(const std::string& call) {
  const std::string method = call.substr(0, call.find(' '));
  std::string rest = call.substr(call.find("/jobs/") + 6);
  rest = rest.substr(0, rest.find(' '));
  const size_t name = rest.find('/');
  const bool named = name != std::string::npos;
  std::string resource = rest.substr(0, name);
  if (const size_t part = named ? rest.find('/', name + 1) : name; part != std::string::npos)
    resource += rest.substr(part);
  if (method == "POST") return resource + " create";
  if (method == "PATCH") return resource + " patch";
  if (method == "GET") return resource + (named ? " get" : " list");
  return resource + (named ? " delete" : " deletecollection");
}

void check_rights(const PodBench& b) {
  const std::set<std::string> rights = rights_of("deploy/kubernetes/driver-role.yaml");
  REQUIRE(rights.contains("pods create"));
  for (const std::string& call : b.seen) {
    INFO(call);
    CHECK(rights.contains(right_for(call)));
  }
}

/// The last thing that is made is answered when the application ends.
void end_while_making(PodBench& b, const std::string& kind) {
  std::vector<CallApi> late;
  while (!b.calls.empty()) {
    const CallApi next = b.calls.front();
    b.calls.erase(b.calls.begin());
    if (next.request.method == "POST" && next.request.path.ends_with("/" + kind))
      late.push_back(next);
    else
      b.feed(b.answer(next));
  }
  REQUIRE_FALSE(late.empty());
  b.feed(StopPods{});
  b.run();
  for (const CallApi& call : late) b.feed({ApiAnswered{call.ticket, 0, "", "the line was cut"}});
  b.run();
  CHECK(b.stopped);
}

}  // namespace

TEST_CASE("a driver asks for nothing that its role does not allow, made late or not", "[pods]") {
  const auto [allocator, kind] =
      GENERATE(table<std::string, std::string>({{"direct", "configmaps"},
                                                {"direct", "persistentvolumeclaims"},
                                                {"direct", "pods"},
                                                {"statefulset", "statefulsets"},
                                                {"deployment", "deployments"}}));
  CAPTURE(allocator, kind);
  conf::Pairs pairs = {{"spark.kubernetes.allocation.pods.allocator", allocator}};
  if (kind == "persistentvolumeclaims") {
    const std::string claim = "spark.kubernetes.executor.volumes.persistentVolumeClaim.data.";
    pairs.emplace_back(claim + "mount.path", "/data");
    pairs.emplace_back(claim + "options.claimName", "OnDemand");
  }
  PodBench b(pod_options(pairs));
  b.feed(WantPods{{{0, 2}}, {}, {}});
  b.feed(StartPods{});
  end_while_making(b, kind);
  check_rights(b);
}

TEST_CASE("a driver's role allows what it does while it runs", "[pods]") {
  PodBench b(pod_options({{"spark.kubernetes.allocation.pods.allocator", "statefulset"}}));
  b.begin({{0, 1}});
  b.feed(WantPods{{{0, 2}}, {}, {}});
  b.run();
  b.show(failed(b.pod(1, "Failed"), 1, "Error"));
  b.feed(NamePod{{"2"}, "s-1"});
  b.run();
  check_rights(b);
}

TEST_CASE("a submitter's role has no more rights to pods' ports than sending files takes",
          "[pods]") {
  const std::set<std::string> rights = rights_of("deploy/kubernetes/submitter-role.yaml");
  CHECK(rights.contains("pods/proxy update"));  // PUT
  CHECK_FALSE(rights.contains("pods/proxy create"));
}
