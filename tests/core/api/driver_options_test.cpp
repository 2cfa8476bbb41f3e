// Settings that the driver refuses at its start.
#include "core/api/runtime/driver_options.hpp"

#include "conf/error.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;

TEST_CASE("cores of a task are at least one, and no more than an executor has",
          "[driver_options]") {
  struct Case {
    const char *cpus, *cores, *allocation;  // "": not set
    std::optional<int32_t> local;           // threads
    const char* error;                      // "": none
  };
  const std::string none =
      "spark.task.cpus was 0, but must be > 0: give each task at least one core.";
  const std::string too_few =
      "The number of cores per executor (=4) has to be >= the number of cpus per task = 8. "
      "Increase spark.executor.cores or decrease spark.task.cpus.";
  const std::string few_threads =
      "The number of cores per executor (=2) has to be >= the number of cpus per task = 3. "
      "Increase N of local[N] or decrease spark.task.cpus.";
  const Case cases[] = {
      {"1", "", "false", {}, ""},
      {"4", "4", "false", {}, ""},
      {"8", "", "false", {}, ""},  // as many as a worker has
      {"8", "4", "false", 8, ""},  // a local executor has threads
      {"3", "4", "false", 2, few_threads.c_str()},
      {"8", "4", "false", {}, too_few.c_str()},
      {"0", "4", "false", {}, none.c_str()},
      {"0", "", "false", 1, none.c_str()},
      {"0", "4", "true", {}, none.c_str()},
  };
  for (const Case& c : cases) {
    CAPTURE(c.cpus, c.cores, c.local);
    conf::Conf conf = conf::Conf{}
                          .with("spark.task.cpus", c.cpus)
                          .with("spark.dynamicAllocation.enabled", c.allocation);
    if (*c.cores) conf = conf.with("spark.executor.cores", c.cores);
    std::string error;
    try {
      check_driver_settings(conf, c.local);
    } catch (const conf::Error& e) {
      error = e.what();
    }
    CHECK(error == c.error);
  }
}
