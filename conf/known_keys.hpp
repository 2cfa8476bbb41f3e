// The names of Spark's keys, and of which Spark they are.
#pragma once
#include <span>
#include <string_view>

namespace tinderbox::conf {

/// The Spark whose words, keys and objects these are.
inline constexpr std::string_view kSparkVersion = "4.3.0";

/// Every key name of Spark 4.3 outside SQL and streaming.
std::span<const std::string_view> spark_names();
/// Prefixes under which any name is a key (`spark.executorEnv.`).
std::span<const std::string_view> key_families();

}  // namespace tinderbox::conf
