// Names and label values: whatever a person writes, the API server takes them.
#include "core/deploy/kubernetes/names.hpp"

#include <random>
#include <regex>

#include "tests/pch.hpp"

using namespace tinderbox::core::kubernetes;

namespace {

const std::regex kDnsName("[a-z0-9]([-a-z0-9]*[a-z0-9])?");
const std::regex kLabelValue("([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?");

std::string any_text(std::mt19937& random) {
  std::string text;
  for (size_t n = random() % 300; n > 0; --n)
    text += random() % 3 ? static_cast<char>('a' + random() % 26) : static_cast<char>(random());
  return text;
}

}  // namespace

TEST_CASE("names of any text keep to the limits, and differ where the texts differ",
          "[pod_objects]") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = any_text(random);
    INFO(text);
    const std::string stem = "a" + dns_name(text) + "z";
    for (const size_t limit : {kLongestLabel, kLongestName, kLongestPrefix}) {
      const std::string name = bounded_name(stem, "-driver-svc", limit);
      CHECK(name.size() <= limit);
      CHECK(name.ends_with("-driver-svc"));
      CHECK(std::regex_match(name, kDnsName));
      CHECK(bounded_name(stem + "x", "-driver-svc", limit) != name);
    }
    CHECK(label_value(text).size() <= kLongestLabel);
    CHECK(std::regex_match(label_value(text), kLabelValue));
    const std::string host = executor_host_name(stem + "-exec-1");
    CHECK(host.size() <= kLongestLabel);
    CHECK(std::regex_match(host, kDnsName));
  }
}

TEST_CASE("K30 names of resources: Spark's rules", "[pod_objects]") {
  CHECK(dns_name("Word Count") == "word-count");
  CHECK(dns_name("  My--App__1 ") == "my-app-1");
  CHECK(dns_name("1st job") == "xst-job");
  CHECK(dns_name("-x") == "x");
  CHECK(label_value("Word Count!") == "word-count");
  CHECK(label_value("v1.2") == "v1.2");
  CHECK(label_value("---").empty());
  CHECK(unique_id(0xabcdef12, 1795474996176) == "cdef12a20aa63bd0");
  CHECK(unique_id(1, 0) == "0000010");
}

TEST_CASE("K28 host names are the end of long pods' names", "[pod_objects]") {
  const std::string prefix(100, 'a');
  CHECK(executor_host_name(prefix + "-exec-12") == std::string(55, 'a') + "-exec-12");
  CHECK(executor_host_name("a.b-exec-1") == "a-b-exec-1");
  // Cut so that it would begin with a dash.
  const std::string dashed = "x" + std::string(1, '-') + std::string(62, 'b');
  CHECK(executor_host_name(dashed) == std::string(62, 'b'));
}

TEST_CASE("spark.kubernetes.executor.podNamePrefix: what a pod's name may begin with",
          "[pod_objects]") {
  CHECK(is_pod_name_prefix("app-1"));
  CHECK(is_pod_name_prefix("a.b"));
  CHECK(is_pod_name_prefix(std::string(237, 'a')));
  for (const std::string& bad :
       {std::string(), std::string(238, 'a'), std::string("-a"), std::string("a-"),
        std::string("A"), std::string("a_b"), std::string("a..b"), std::string("a.-b")}) {
    INFO(bad);
    CHECK_FALSE(is_pod_name_prefix(bad));
  }
}

TEST_CASE(
    "names of secrets' volumes: Spark's where a volume may have that, else told apart by a hash",
    "[pod_objects]") {
  CHECK(volume_name("keys") == "keys-volume");
  CHECK(volume_name("1-keys") == "1-keys-volume");
  CHECK(volume_name(std::string(56, 'k')) == std::string(56, 'k') + "-volume");
  CHECK(volume_name("a.b") != volume_name("a-b"));
  CHECK(volume_name(std::string(57, 'k')) != volume_name(std::string(58, 'k')));
  for (const std::string& name :
       {std::string("a.b"), std::string(253, 'k'), std::string(100, '1') + ".tls"}) {
    CAPTURE(name);
    CHECK(volume_name(name).size() <= kLongestLabel);
    CHECK(std::regex_match(volume_name(name), kDnsName));
    CHECK(volume_name(name).ends_with("-volume"));
  }
}
