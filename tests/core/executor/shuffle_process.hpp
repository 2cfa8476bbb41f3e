// One executor's half of a shuffle: it writes map outputs, and reads those of others over real
// sockets. The test plays the driver.
#pragma once

#include "core/executor/task_services.hpp"
#include "tests/core/storage/transfer/block_process.hpp"
#include "tests/pch.hpp"

namespace tinderbox::core::test {

struct NoDriver : DriverLink {
  void send(ToDriver) override {}
};

struct ShuffleProcess : BlockProcess {
  NoDriver driver;
  std::unique_ptr<ExecutorServices> services;

  ShuffleProcess(tinderbox::test::FakeFiles& files, const std::string& name, int64_t max_ahead)
      : BlockProcess(files, name, "host", 1000, [&](BlockTransferOptions& options) {
          options.client.max_retries = 0;
          options.max_ahead = max_ahead;
        }) {
    ExecutorServicesOptions so;
    so.self = id;
    services = std::make_unique<ExecutorServices>(so, *blocks, *transfer, driver);
  }
  /// A map output of shuffle 1: `content`, for each reducer with its number.
  MapStatus write(int64_t map_id, const std::string& content, int32_t reducers = 3) {
    auto output = services->map_output(ShuffleId{1}, map_id, 0, reducers);
    for (int32_t r = 0; r < reducers; ++r) REQUIRE(output->append(r, content + std::to_string(r)));
    auto status = output->commit();
    REQUIRE(status);
    return *status;
  }
};

inline MapOutputs outputs(std::vector<MapStatus> statuses) {
  MapOutputs m;
  m.shuffle = ShuffleId{1};
  m.epoch = 0;
  for (MapStatus& status : statuses) m.statuses.emplace_back(std::move(status));
  return m;
}

}  // namespace tinderbox::core::test
