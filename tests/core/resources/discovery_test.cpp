// Addresses from files and from programs that look for them.
#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/resources/discovery.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using Catch::Matchers::Contains;

namespace {

struct Folder {
  std::string path;
  std::unique_ptr<net::Files> files = net::make_real_files();

  Folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "resources-XXXXXX";
    REQUIRE(::mkdtemp(pattern.data()));
    path = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name, const std::string& text, bool program = false) {
    const std::string at = path + "/" + name;
    std::ofstream(at) << text;
    if (program) ::chmod(at.c_str(), 0700);
    return at;
  }
  std::string script(const std::string& name, const std::string& prints) {
    return file(name, "#!/bin/sh\ncat <<'END'\n" + prints + "\nEND\n", true);
  }
  Result<ResourceAddresses> find(const std::map<std::string, ExecutorResource>& wanted,
                                 const std::string& from = {}) const {
    return find_resources(*files, "spark.worker", wanted, from);
  }
  std::string error(const std::map<std::string, ExecutorResource>& wanted,
                    const std::string& from = {}) const {
    Result<ResourceAddresses> found = find(wanted, from);
    return found ? "" : found.error().message;
  }
};

const ResourceAddresses kBoth = {{"gpu", {"0", "1"}}, {"fpga", {"f1", "f2", "f3"}}};

}  // namespace

TEST_CASE("M36 a worker's resources: none, from a file, from a program, from both", "[resources]") {
  Folder f;
  CHECK(*f.find({}) == ResourceAddresses{});
  const std::string file = f.file("all.json", resources_file("spark.worker", kBoth));
  CHECK(*f.find({}, file) == kBoth);
  CHECK(*f.find({{"gpu", {2, ""}}, {"fpga", {3, ""}}}, file) == kBoth);
  const std::string fpga = f.script("fpga", R"({"name":"fpga","addresses":["f1","f2","f3"]})");
  CHECK(*f.find({{"fpga", {3, fpga}}}) == ResourceAddresses{{"fpga", {"f1", "f2", "f3"}}});
  const std::string gpu = f.file("gpu.json", resources_file("spark.worker", {{"gpu", {"0", "1"}}}));
  CHECK(*f.find({{"gpu", {2, ""}}, {"fpga", {3, fpga}}}, gpu) == kBoth);
}

TEST_CASE("a resources file has Spark's form, and each component reads its own", "[resources]") {
  Folder f;
  CHECK(
      resources_file("spark.executor", {{"gpu", {"0", "1"}}}) ==
      R"([{"id":{"componentName":"spark.executor","resourceName":"gpu"},"addresses":["0","1"]}])");
  const std::string file = f.file("mine.json", R"([
    {"id": {"componentName": "spark.executor", "resourceName": "gpu"}, "addresses": ["9"]},
    {"id": {"componentName": "spark.worker", "resourceName": "gpu"}, "addresses": ["3"]},
    {"id": {"componentName": "spark.driver", "resourceName": "gpu"}, "addresses": ["5"]}])");
  CHECK(*f.find({}, file) == ResourceAddresses{{"gpu", {"3"}}});
}

TEST_CASE("what is not found is said in one line", "[resources]") {
  Folder f;
  const auto wants = [](const std::string& script, int32_t n = 1) {
    return std::map<std::string, ExecutorResource>{{"gpu", {n, script}}};
  };
  CHECK_THAT(f.error(wants("")), Contains("gpu, but didn't specify a discovery script! Set "
                                          "spark.worker.resource.gpu.discoveryScript"));
  CHECK(f.error(wants(f.path + "/none")) ==
        "Resource script: " + f.path + "/none to discover gpu doesn't exist!");
  CHECK_THAT(f.error(wants(f.file("fails", "#!/bin/sh\nexit 3\n", true))),
             Contains("Error running the resource discovery script " + f.path + "/fails"));
  CHECK_THAT(f.error(wants(f.script("text", "no gpus here\nnone"))),
             Contains("printed 'no gpus here'; it must print"));
  CHECK_THAT(f.error(wants(f.script("other", R"({"name":"fpga","addresses":["0"]})"))),
             Contains("script returned resource name fpga and we were expecting gpu."));
  CHECK_THAT(f.error(wants(f.script("numbers", R"({"name":"gpu","addresses":[0]})"))),
             Contains("the address 0 is no text"));
  CHECK_THAT(f.error(wants(f.script("twice", R"({"name":"gpu","addresses":["0","0"]})"))),
             Contains("comes twice"));
  CHECK(f.error(wants(f.script("few", R"({"name":"gpu","addresses":["0","1"]})"), 3)) ==
        "Resource: gpu, with addresses: 0,1 is less than what the user requested: 3");
  CHECK_THAT(f.error({}, f.path + "/missing.json"), Contains("Error parsing resources file"));
  for (const char* bad : {"{", "{}", "[1]", R"([{"id":{"componentName":"spark.worker"}}])",
                          R"([{"id":{"componentName":"spark.worker","resourceName":"gpu"}}])"})
    CHECK_THAT(f.error({}, f.file("bad.json", bad)), Contains("Error parsing resources file"));
}

TEST_CASE("resources for people", "[resources]") {
  CHECK(show_resources(kBoth) == "fpga: [f1, f2, f3], gpu: [0, 1]");
  CHECK(show_amounts({{"gpu", 2}, {"fpga", 1}}) == "1 fpga, 2 gpu");
}
