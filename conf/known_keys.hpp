// The names of Spark's keys.
#pragma once
#include <span>
#include <string_view>

namespace tinderbox::conf {

/// Every key name of Spark 4.3 outside SQL and streaming.
std::span<const std::string_view> spark_names();
/// Prefixes under which any name is a key (`spark.executorEnv.`).
std::span<const std::string_view> key_families();

}  // namespace tinderbox::conf
