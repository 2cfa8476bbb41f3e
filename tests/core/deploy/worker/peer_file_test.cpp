#include "core/deploy/worker/peer_file.hpp"

#include <thread>

#include "conf/conf.hpp"
#include "core/shell.hpp"
#include "core/storage/stores/checksum.hpp"
#include "tests/core/storage/transfer/block_process.hpp"

using namespace tinderbox;

namespace {

/// `whole` in pieces of `size` bytes.
std::vector<BlockChunk> chunks_of(const std::string& whole, size_t size) {
  std::vector<BlockChunk> chunks;
  for (size_t at = 0; at < whole.size(); at += size) {
    BlockChunk& chunk = chunks.emplace_back();
    chunk.offset = static_cast<int64_t>(at);
    chunk.total = static_cast<int64_t>(whole.size());
    chunk.bytes = Payload(Bytes(whole.substr(at, size)));
    chunk.checksum = core::checksum(chunk.bytes);
  }
  return chunks;
}

/// Answers the first wish with the first chunks, and so on, on a thread of its own.
class PlayedDriver {
 public:
  explicit PlayedDriver(std::vector<std::vector<BlockChunk>> answers)
      : answers_(std::move(answers)) {
    board_.on_message<ToBlocks>([this](PeerId from, ToBlocks&& message) {
      const auto* open = std::get_if<OpenBlocks>(&message);
      if (open && asked_ < answers_.size()) answer(from, open->wishes.at(0).stream);
    });
    net::Listen where;
    where.host = "127.0.0.1";
    const Result<int> port = endpoint_->listen(where);
    REQUIRE(port);
    address = "127.0.0.1:" + std::to_string(*port);
    thread_ = std::thread([this] { loop_->run(); });
  }
  ~PlayedDriver() {
    loop_->stop();
    thread_.join();
  }
  std::string address;

 private:
  void answer(PeerId to, uint64_t stream) {
    for (BlockChunk& chunk : answers_[asked_++]) {
      chunk.stream = stream;
      BlockChunks one;
      one.chunks.push_back(chunk);
      endpoint_->send(to, net::encode(FromBlocks(std::move(one))));
    }
  }

  std::unique_ptr<net::PollLoop> loop_ = net::make_poll_loop();
  std::unique_ptr<net::SocketEndpoint> endpoint_ = net::make_socket_endpoint(*loop_);
  core::Switchboard board_{*endpoint_};
  std::vector<std::vector<BlockChunk>> answers_;
  size_t asked_ = 0;
  std::thread thread_;
};

}  // namespace

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

TEST_CASE("a large file is fetched whole, a chunk at a time", "[deploy]") {
  tinderbox::test::FakeFiles files;
  files.directories.insert("/home");
  files.files["/home/model"] = std::make_shared<std::string>(std::string(3 << 20, 'x') + "end");
  core::test::BlockProcess driver(files, "driver", "h", 0, [](core::BlockTransferOptions&) {});
  REQUIRE(driver.blocks->hand_out_file(
      {.name = "model", .url = "file:/home/model", .read_as = "model", .path = "/home/model"}));
  const auto fetch = core::peer_file(conf::Conf{});
  std::string got;
  size_t largest = 0;
  bool wanted = true;
  const auto sink = [&](std::string_view bytes) {
    got += bytes;
    largest = std::max(largest, bytes.size());
    return bytes.empty() || wanted;
  };
  const Result<int64_t> size = fetch(driver.id.address, "model", sink);
  REQUIRE(size);
  CHECK(*size == (3 << 20) + 3);
  CHECK((got == *files.files["/home/model"]));
  CHECK(largest <= size_t{1} << 20);
  wanted = false;
  const Result<int64_t> left = fetch(driver.id.address, "model", sink);
  REQUIRE_FALSE(left);
  CHECK(left.error().message == "nobody waits for it any more");
}

TEST_CASE("what comes once more is passed on once, and must be the same", "[deploy]") {
  const std::string whole = std::string(1 << 20, 'x') + std::string(1 << 20, 'y');
  std::vector<BlockChunk> begun = chunks_of(whole, 700'000);
  begun.resize(2);
  begun[1].checksum ^= 1;
  std::string got;
  const auto fetch = [&](const std::string& again) {
    got.clear();
    PlayedDriver driver({begun, chunks_of(again, 300'000)});
    return core::peer_file(conf::Conf{})(driver.address, "model", [&](std::string_view bytes) {
      got += bytes;
      return true;
    });
  };
  const Result<int64_t> size = fetch(whole);
  REQUIRE(size);
  CHECK(*size == 2 << 20);
  CHECK((got == whole));
  for (const std::string& other :
       {std::string(2 << 20, 'y'), whole.substr(0, 650'000), std::string("short")}) {
    const Result<int64_t> mixed = fetch(other);
    REQUIRE_FALSE(mixed);
    CHECK(mixed.error().message == "it was changed while it was read");
    CHECK((got == whole.substr(0, 700'000)));
  }
}
