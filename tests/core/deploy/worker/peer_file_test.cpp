#include "core/deploy/worker/peer_file.hpp"

#include "conf/conf.hpp"
#include "tests/core/storage/transfer/block_process.hpp"

using namespace tinderbox;

TEST_CASE("a file that nobody waits for any more is not asked for again", "[deploy]") {
  int asked = 0;
  const auto sink = [&](std::string_view bytes) {
    CHECK(bytes.empty());
    return ++asked < 3;
  };
  // Nobody listens there.
  const Result<int64_t> got = core::peer_file(conf::Conf{})("127.0.0.1:1", "app", sink);
  REQUIRE_FALSE(got);
  CHECK(got.error().message == "nobody waits for it any more");
  CHECK(asked == 3);
}

TEST_CASE("a file is fetched whole, though a block of its size would not go to memory",
          "[deploy]") {
  tinderbox::test::FakeFiles files;
  files.directories.insert("/home");
  files.files["/home/model"] = std::make_shared<std::string>(std::string(3 << 20, 'x') + "end");
  core::test::BlockProcess driver(files, "driver", "h", 0, [](core::BlockTransferOptions&) {});
  REQUIRE_FALSE(driver.blocks->hand_out_file("model", "/home/model"));
  const auto fetch =
      core::peer_file(conf::Conf::of({{"spark.network.maxRemoteBlockSizeFetchToMem", "1m"}}));
  std::string got;
  bool wanted = true;
  const auto sink = [&](std::string_view bytes) {
    got += bytes;
    return bytes.empty() || wanted;
  };
  const Result<int64_t> size = fetch(driver.id.address, "model", sink);
  REQUIRE(size);
  CHECK(*size == (3 << 20) + 3);
  CHECK((got == *files.files["/home/model"]));
  wanted = false;
  const Result<int64_t> left = fetch(driver.id.address, "model", sink);
  REQUIRE_FALSE(left);
  CHECK(left.error().message == "nobody waits for it any more");
}
