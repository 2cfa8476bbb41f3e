// The options of submit, once: lexing, merging, warnings and --help all come from this table.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "conf/key.hpp"

namespace tinderbox::conf {

/// Where the value of an option becomes a property: a bit for each manager and deploy mode.
/// Source: Spark 4.3 SparkSubmit.prepareSubmitEnvironment, its table of OptionAssigner.
using Reach = unsigned;
inline constexpr Reach kLocalClient = 1, kLocalCluster = 2, kStandaloneClient = 4,
                       kStandaloneCluster = 8, kKubernetesClient = 16, kKubernetesCluster = 32,
                       kYarnClient = 64, kYarnCluster = 128;
inline constexpr Reach kNowhere = 0, kEverywhere = 255;
inline constexpr Reach kAnyStandalone = kStandaloneClient | kStandaloneCluster;
inline constexpr Reach kAnyKubernetes = kKubernetesClient | kKubernetesCluster;
inline constexpr Reach kAnyYarn = kYarnClient | kYarnCluster;
inline constexpr Reach kAnyClient =
    kLocalClient | kStandaloneClient | kKubernetesClient | kYarnClient;
inline constexpr Reach kShipped = kStandaloneCluster | kKubernetesCluster;

/// The paragraphs of --help.
enum class Group { kMain, kResources, kCluster, kStandalone, kKubernetes, kNoEffect, kOther };

struct SubmitOption {
  std::string_view name;
  std::string_view short_name;  // empty: none
  std::string_view value;       // what stands for it in --help; empty: a switch
  std::string_view property;    // the key it sets; empty: none
  Reach reach;
  Group group;
  std::string_view help;
};

std::span<const SubmitOption> submit_options();
/// By its long or short name; null: no such option.
const SubmitOption* find_option(std::string_view name);

/// The first lines of --help, also printed below a usage error.
std::string submit_synopsis();
std::string submit_help();

}  // namespace tinderbox::conf
