// What a shuffle's reader counts, and whom it blames for a large block that its own disk could not
// keep.
#include "core/shuffle/reader.hpp"

#include "core/shuffle/blocks/block.hpp"
#include "tests/core/executor/shuffle_process.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;

namespace {

/// Blocks of more than a chunk come to it through files.
struct SmallReader : BlockProcess {
  NoDriver driver;
  std::unique_ptr<ExecutorServices> services;
  TaskContext task;

  explicit SmallReader(tinderbox::test::FakeFiles& files)
      : BlockProcess(files, "reader", "host", 1000, [](BlockTransferOptions& options) {
          options.client.max_retries = 0;
          options.client.to_memory = 1 << 20;
        }) {
    ExecutorServicesOptions so;
    so.self = id;
    services = std::make_unique<ExecutorServices>(so, *blocks, *transfer, driver);
  }
  /// How many bytes of records reducer 0 gets, or what its task fails with.
  std::string read(const MapOutputs& all) {
    services->on_driver_message(ToExecutor{all});
    task.services = services.get();
    std::string outcome;
    try {
      ShuffleReader reader(task, {all.shuffle, 0});
      size_t size = 0;
      while (const auto records = reader.next()) size += records->size();
      outcome = std::to_string(size);
    } catch (const FetchFailedException& failure) {
      outcome = "blamed: " + failure.reason.description;
    } catch (const std::runtime_error& failure) {
      outcome = failure.what();
      CHECK(!task.fetch_failure);
    }
    return outcome;
  }
};

}  // namespace

TEST_CASE("a reader whose own disk fails blames no holder of a map output", "[shuffle]") {
  tinderbox::test::FakeFiles files;
  ShuffleProcess holder(files, "holder", 0);
  SmallReader reader(files);
  const std::string records(3 << 20, 'x');
  Bytes sealed;
  seal_piece(records, {}, sealed);
  auto output = holder.services->map_output(ShuffleId{1}, 7, 0, 1);
  REQUIRE(output->append(0, sealed));
  const auto status = output->commit();
  REQUIRE(status);
  const MapOutputs all = outputs({*status});
  CHECK(reader.read(all) == std::to_string(records.size()));
  const char* begins = "cannot fetch shuffle_1_7_0: the reader's own disk failed (make room in ";
  SECTION("full") {
    files.capacity = 0;
    CHECK_THAT(reader.read(all),
               Catch::StartsWith(begins) && Catch::EndsWith("No space left on device"));
  }
  SECTION("not to be written to") {
    files.read_only = {"/d"};
    CHECK_THAT(reader.read(all),
               Catch::StartsWith(begins) && Catch::EndsWith("Read-only file system"));
  }
  SECTION("broken when the file is ended") {
    files.refuse = "fetched_";
    CHECK_THAT(reader.read(all),
               Catch::StartsWith(begins) && Catch::EndsWith("Input/output error"));
  }
  SECTION("with a wrong bit") {
    files.damage = "fetched_";
    CHECK_THAT(reader.read(all),
               Catch::StartsWith(begins) && Catch::EndsWith("is corrupted due to DISK_ISSUE"));
  }
  SECTION("a holder that is gone is blamed") {
    holder.transfer->stop();
    CHECK_THAT(reader.read(all), Catch::StartsWith("blamed: cannot fetch shuffle_1_7_0 from "));
  }
}

TEST_CASE("what is read of files of the same host counts as local, what came over sockets does not",
          "[shuffle]") {
  tinderbox::test::FakeFiles files;
  ShuffleProcess holder(files, "holder", 0);
  SmallReader reader(files);
  Bytes sealed;
  seal_piece(std::string(3 << 20, 'x'), {}, sealed);
  auto output = holder.services->map_output(ShuffleId{1}, 7, 0, 1);
  REQUIRE(output->append(0, sealed));
  const auto status = output->commit();
  REQUIRE(status);
  const bool by_file = GENERATE(true, false);
  if (by_file) reader.transfer->set_local_dirs(holder.id.executor, holder.blocks->local_dirs());
  CHECK(reader.read(outputs({*status})) == std::to_string(3 << 20));
  const auto bytes = static_cast<int64_t>(sealed.size());
  CHECK(reader.task.metrics.shuffle_read_local_bytes == (by_file ? bytes : 0));
  CHECK(reader.task.metrics.shuffle_read_remote_bytes == (by_file ? 0 : bytes));
}
