// Where a process finds the addresses of its custom resources: in the file that its worker wrote,
// or from a program that looks for them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "net/files/files.hpp"
#include "net/types.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

/// Addresses of everything in `wanted`, and of whatever else the file names. `component`: whose
/// entries of `file` count (spark.worker, spark.executor, spark.driver); `file` empty: there is
/// none. Waits for discovery scripts, until a signal asks the process to stop.
/// Errors, one line: no script, or it failed, or printed something else; fewer addresses than
/// wanted. Source: Spark 4.3 ResourceUtils.getOrDiscoverAllResources,
/// ResourceDiscoveryScriptPlugin.
Result<ResourceAddresses> find_resources(net::Files& files, std::string_view component,
                                         const std::map<std::string, ExecutorResource>& wanted,
                                         const std::string& file);

/// The text of a resources file: Spark's list of allocations.
std::string resources_file(std::string_view component, const ResourceAddresses& resources);

/// `gpu: [0, 1], fpga: [f1]`, for the log and for pages. Source: Spark
/// StandaloneResourceUtils.formatResourcesAddresses.
std::string show_resources(const ResourceAddresses& resources);

/// `2 gpu, 1 fpga`. Source: Spark StandaloneResourceUtils.formatResourceRequirements.
std::string show_amounts(const ResourceAmounts& amounts);

}  // namespace tinderbox::core
