#include "core/deploy/worker/peer_file.hpp"

#include <catch2/catch.hpp>

#include "conf/conf.hpp"

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
