// Stores and transfer of one process, on the real file system and a real port.
#include "core/executor/process_blocks.hpp"

#include <filesystem>

#include "net/process/environment.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;

TEST_CASE("a port in use is another failure than a directory that can't be had",
          "[process_blocks]") {
  const std::string directory =
      std::filesystem::temp_directory_path().string() + "/process-blocks-" + net::unique_name();
  ProcessBlocksOptions o;
  o.conf = conf::Conf{}.with("spark.local.dir", directory).with("spark.port.maxRetries", "0");
  o.self = {"1"};
  o.host = "127.0.0.1";
  o.bind_host = "127.0.0.1";
  o.memory = 512LL << 20;
  {
    auto first = ProcessBlocks::open(o, {});
    REQUIRE(first);
    REQUIRE((*first)->listen(o));
    o.port = (*first)->transfer->port();
    CHECK((*first)->id.address == "127.0.0.1:" + std::to_string(o.port));
    auto second = ProcessBlocks::open(o, {});
    REQUIRE(second);
    CHECK_FALSE((*second)->listen(o));
  }
  o.conf = o.conf.with("spark.local.dir", "/dev/null/none");
  CHECK_FALSE(ProcessBlocks::open(o, {}));
  std::filesystem::remove_all(directory);
}
