// What the submit role hands on to conversations with cluster managers.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "conf/submit/submit_options.hpp"

namespace tinderbox::cmd {

/// The driver's option with the folder that an application was fetched into; it removes it when it
/// ends.
inline constexpr std::string_view kFetchedOption = "--remove-at-end";

/// The driver's command, when SPARK_PRINT_LAUNCH_COMMAND asks for it.
void print_launch_command(const std::string& program, std::span<const std::string> arguments);

/// Cluster deploy mode: the master places the driver on a worker. Returns the exit code.
/// Errors: conf::Error, one line.
int submit_to_master(const conf::SubmitRequest& request);

/// Cluster deploy mode: the driver runs in a pod. Returns the exit code. Errors: conf::Error.
int submit_to_kubernetes(const conf::SubmitRequest& request);
/// --kill and --status of pods. Returns the exit code. Errors: conf::Error.
int kubernetes_action(const conf::SubmitRequest& request);

/// --kill and --status of `request.submission_id`. Returns the exit code. Errors: conf::Error.
int submission_action(const conf::SubmitRequest& request);

}  // namespace tinderbox::cmd
