// The fair scheduler's pools: spark.scheduler.mode and the allocation file, fairscheduler.xml.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "conf/conf.hpp"
#include "conf/sources/environment.hpp"
#include "conf/sources/files.hpp"
#include "conf/values/pools.hpp"

namespace tinderbox::conf {

/// What the scheduler is told of its pools, and what there is to say about it in the log.
struct PoolSettings {
  SchedulingMode mode = SchedulingMode::kFifo;
  std::vector<PoolSpec> pools;  // in FAIR mode
  std::vector<std::string> notes, warnings;
};

/// Every element `pool`, wherever it stands, is a pool of the root. A value that is missing or none
/// gives a warning and the default. `file`: its name in messages.
/// Errors: conf::Error with the line for what is not well-formed XML.
/// Source: Spark 4.3 FairSchedulableBuilder.
PoolSettings parse_allocations(std::string_view file, std::string_view xml);

/// The mode, and in FAIR mode the pools of spark.scheduler.allocation.file, else those of
/// `fairscheduler.xml` in the configuration folder, else only the default pool, with the mode FAIR.
/// Errors: conf::Error for an unsupported mode, a named file that cannot be read, and as above.
PoolSettings pool_settings(const Conf& conf, const Environment& environment,
                           const std::function<FileText(const std::string& path)>& read);

}  // namespace tinderbox::conf
