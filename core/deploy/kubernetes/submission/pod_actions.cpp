#include "core/deploy/kubernetes/submission/pod_actions.hpp"

#include <nlohmann/json.hpp>

#include "core/deploy/kubernetes/names.hpp"
#include "core/status/exit_codes.hpp"

namespace tinderbox::core::kubernetes {

PodActions::PodActions(PodActionOptions options) : options_(std::move(options)) {
  const std::string& id = options_.submission_id;
  const size_t colon = id.find(':');
  name_space_ = colon == std::string::npos ? options_.name_space : id.substr(0, colon);
  name_ = id.substr(colon == std::string::npos ? 0 : colon + 1);
  pattern_ = name_.ends_with('*');
  if (pattern_) name_.pop_back();
}

void PodActions::on(const Event& event, Time, Effects& out) {
  if (std::holds_alternative<StartPodAction>(event)) return start(out);
  const ApiAnswered& answer = std::get<ApiAnswered>(event);
  if (answer.ticket == 1)
    found(answer, out);
  else
    removed(answer, out);
}

void PodActions::start(Effects& out) {
  const std::string what = options_.submission_id + " in " + options_.master + ".";
  if (options_.submission_id.find(':', options_.submission_id.find(':') + 1) != std::string::npos ||
      (name_.empty() && !pattern_))
    return end(kExitFailure, "Submission ID: {" + options_.submission_id + "} is invalid.", out);
  if (options_.kill)
    out.push_back(Tell{"Submitting a request to kill submission " + what +
                       " Grace period in secs: " +
                       (options_.grace < 0 ? "not set" : std::to_string(options_.grace)) + "."});
  else
    out.push_back(Tell{"Submitting a request for the status of submission " + what});
  const std::string path = pattern_ ? api_path(name_space_, "pods") +
                                          "?labelSelector=" + selector({{kRoleLabel, "driver"}})
                                    : api_path(name_space_, "pods", name_);
  out.push_back(CallApi{++ticket_, get_object(path)});
}

void PodActions::found(const ApiAnswered& e, Effects& out) {
  if (e.status == kNotFound && !pattern_) {
    out.push_back(Tell{"Application not found."});
    return end(kExitFailure, "", out);
  }
  if (!e.ok()) return end(kExitFailure, failure(e), out);
  const Json body = Json::parse(e.body, nullptr, false);
  std::vector<PodView> pods;
  if (!pattern_) pods.push_back(read_pod(body));
  if (pattern_ && body.is_object() && body.value("items", Json()).is_array())
    for (const Json& item : body["items"])
      if (PodView pod = read_pod(item); pod.name.starts_with(name_)) pods.push_back(std::move(pod));
  if (pods.empty()) {
    out.push_back(Tell{"No applications found."});
    return end(kExitFailure, "", out);
  }
  for (const PodView& pod : pods) act(pod, out);
  if (waiting_ == 0) end(kExitOk, "", out);
}

void PodActions::act(const PodView& pod, Effects& out) {
  if (!options_.kill)
    return out.push_back(Tell{"Application status (driver): " + describe_pod(pod)});
  out.push_back(Tell{"Deleting driver pod: " + pod.name + "."});
  ++waiting_;
  out.push_back(CallApi{
      ++ticket_, delete_object(api_path(name_space_, "pods", pod.name), pod.uid, options_.grace)});
}

void PodActions::removed(const ApiAnswered& e, Effects& out) {
  if (!e.ok() && e.status != kNotFound) failure_ = failure(e);
  if (--waiting_ == 0) end(failure_.empty() ? kExitOk : kExitFailure, failure_, out);
}

void PodActions::end(int code, const std::string& reason, Effects& out) {
  out.push_back(Exit{code, reason});
}

}  // namespace tinderbox::core::kubernetes
