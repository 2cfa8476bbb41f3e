// From what a person submitted to the objects that say it, without touching the API server.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conf/sources/kubeconfig.hpp"
#include "conf/submit/submit_options.hpp"
#include "core/deploy/kubernetes/submission/submission.hpp"

namespace tinderbox::core::kubernetes {

/// All that planning may know of the world; a test hands in its own.
struct PlanWorld {
  conf::Environment environment;
  conf::ReadText read;
  conf::ListDirectory list;
  std::function<Result<std::string>(const std::string& path)> sha256;
  /// Whether a path is this program's own file, which images begin with.
  std::function<bool(const std::string& path)> is_own_program;
  /// Errors: conf::Error for a file that is no application.
  std::function<void(const std::string& path)> check_application;
  std::string user;
  std::string uuid;  // random, 32 hex digits
  int64_t now_ms = 0;
};

/// Errors: conf::Error for what cannot be submitted: nothing is created then.
SubmissionOptions plan_submission(const conf::SubmitRequest& request, const PlanWorld& world);

/// What --dry-run prints: the objects as YAML documents. Bytes of secrets are hidden, and so are
/// properties and variables by `spark.redaction.regex` of `conf`. Errors: as conf::redact.
std::string show_objects(const SubmissionOptions& plan, const conf::Conf& conf);

/// The value of tinderbox.kubernetes.application for this resource; empty: it must be fetched.
std::string application_in_image(const std::string& resource,
                                 const std::function<bool(const std::string&)>& is_own_program);

}  // namespace tinderbox::core::kubernetes
