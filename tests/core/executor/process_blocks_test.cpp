// Stores and transfer of one process, on the real file system and a real port.
#include "core/executor/process_blocks.hpp"

#include <filesystem>
#include <fstream>
#include <future>

#include "conf/keys.hpp"
#include "net/log.hpp"
#include "net/process/environment.hpp"
#include "tests/net/temp_dir.hpp"
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

TEST_CASE("a process plans with what its control group allows, and says so when that is less",
          "[process_blocks]") {
  const tinderbox::test::TempDir directory;
  std::vector<std::string> said;
  const auto sizes = [&](int64_t memory, const net::GroupLimits& limits) {
    ProcessBlocksOptions o;
    o.conf = conf::Conf{}.with("spark.local.dir", directory.path);
    o.memory = memory;
    o.limits = limits;
    said.clear();
    const auto blocks = ProcessBlocks::open(o, {});
    REQUIRE(blocks);
    return std::pair((*blocks)->manager->memory().size(), (*blocks)->max_fetched);
  };
  net::set_log_redaction([&](std::string_view line) {
    said.emplace_back(line);
    return std::string(line);
  });
  const auto given = sizes(256 << 20, {});
  CHECK(said.empty());
  CHECK(sizes(256 << 20, {256 << 20, {}}) == given);
  CHECK(said.empty());
  CHECK(sizes(1024 << 20, {256 << 20, 1.5}) == given);
  net::set_log_redaction({});
  CHECK(said == std::vector<std::string>{
                    "the control group of this process allows it 256 MiB, less than the 1024 MiB "
                    "that it was given: it plans with the former"});
  CHECK(sizes(1024 << 20, {}) > given);
}

TEST_CASE("a block that is large for the memory of its process comes to it through a file",
          "[process_blocks]") {
  const tinderbox::test::TempDir directory;
  ProcessBlocksOptions o;
  o.conf = conf::Conf{}.with("spark.local.dir", directory.path);
  o.bind_host = "127.0.0.1";
  o.memory = 512LL << 20;
  std::vector<std::unique_ptr<ProcessBlocks>> peers;
  for (const char* name : {"1", "2"}) {
    o.self = {name};
    o.host = name == std::string("1") ? "127.0.0.1" : "localhost";
    auto opened = ProcessBlocks::open(o, {});
    REQUIRE(opened);
    REQUIRE((*opened)->listen(o));
    peers.push_back(std::move(*opened));
  }
  const int64_t share = peers[1]->manager->memory().size() / 16;
  REQUIRE(share < o.conf.get(conf::kMaxRemoteBlockToMemory));
  const std::atomic<bool> killed{false};
  const auto put = [&](const std::string& name, int64_t size) {
    const std::string content(static_cast<size_t>(size), 'x');
    REQUIRE(peers[0]->manager->put(name, {.disk = true}, Payload(Bytes(content)), false));
    return content;
  };
  const auto is_mapped = [] {
    std::ifstream file("/proc/self/maps");
    const std::string maps{std::istreambuf_iterator<char>(file), {}};
    return maps.find("/temp/fetched_") != std::string::npos;
  };
  const auto mapped = [&](const std::string& name, int64_t size) {
    const std::string content = put(name, size);
    const auto block =
        peers[1]->transfer->fetch({{.from = peers[0]->id, .block = name}}, killed)->next();
    REQUIRE(block->bytes);
    CHECK((block->bytes->view() == content));
    return is_mapped();
  };
  CHECK(mapped("rdd_1_0", share + 1));
  CHECK_FALSE(mapped("rdd_1_1", share));
  // What is kept in memory is there.
  const std::string content = put("rdd_1_2", share + 1);
  std::promise<bool> taken;
  peers[1]->transfer->take(TakeBlock{1, peers[0]->id, "rdd_1_2", true, false},
                           [&](const BlockTaken& t) { taken.set_value(t.taken); });
  CHECK(taken.get_future().get());
  CHECK((peers[1]->manager->get("rdd_1_2")->view() == content));
  CHECK_FALSE(is_mapped());
}
