// What the user's thread asks of the driver: run a function over partitions of an Rdd.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/plan/lineage/lineage.hpp"

namespace tinderbox::core {

/// The local property that names a job's group. Source: Spark SparkContext.SPARK_JOB_GROUP_ID.
inline constexpr char kJobGroup[] = "spark.jobGroup.id";
/// The one of its tags, with commas between them. Source: Spark SparkContext.SPARK_JOB_TAGS.
inline constexpr char kJobTags[] = "spark.job.tags";
/// Those of a job with such local properties.
std::vector<std::string> job_tags(const std::map<std::string, std::string>& properties);

/// `ticket` names the waiting caller; results and the end of the job come back under it.
/// Shape: results come as (position in `partitions`, encoded value of `action` over that
/// partition).
/// With `map_stage` the job makes the outputs of that shuffle and nothing else; `root`,
/// `partitions` and `action` are not looked at. Its one result: estimated bytes for each reducer,
/// an int64 each.
struct JobRequest {
  uint64_t ticket = 0;
  NodePtr root;
  std::vector<int32_t> partitions;
  const Descriptor* action = nullptr;  // a terminal operation; null in machine tests
  Bytes action_captured;
  References held;  // by those
  ShufflePtr map_stage;
  std::map<std::string, std::string> properties;  // local properties, a snapshot
  std::string call_site;
  bool profiles = false;  // some Rdd of the application has a resource profile
};

}  // namespace tinderbox::core
