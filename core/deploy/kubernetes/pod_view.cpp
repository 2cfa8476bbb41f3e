#include "core/deploy/kubernetes/pod_view.hpp"

#include <nlohmann/json.hpp>

namespace tinderbox::core::kubernetes {
namespace {

using Json = nlohmann::json;

const Json& part(const Json& object, const char* key) {
  static const Json kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(key);
  return found == object.end() ? kNone : *found;
}

std::string text(const Json& object, const char* key) {
  const Json& value = part(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

int32_t number(const Json& object, const char* key) {
  const Json& value = part(object, key);
  return value.is_number_integer() ? value.get<int32_t>() : 0;
}

ContainerView read_container(const Json& status) {
  using State = ContainerView::State;
  ContainerView c;
  c.name = text(status, "name");
  c.image = text(status, "image");
  const Json& state = part(status, "state");
  const Json& waiting = part(state, "waiting");
  const Json& running = part(state, "running");
  const Json& ended = part(state, "terminated");
  const Json& one = !ended.is_null() ? ended : !running.is_null() ? running : waiting;
  c.state = !ended.is_null()     ? State::Terminated
            : !running.is_null() ? State::Running
            : !waiting.is_null() ? State::Waiting
                                 : State::None;
  c.reason = text(one, "reason");
  c.message = text(one, "message");
  c.exit_code = number(one, "exitCode");
  c.signal = number(one, "signal");
  c.started_at = text(one, "startedAt");
  c.finished_at = text(one, "finishedAt");
  c.restarts = number(status, "restartCount");
  c.last_exit = number(part(part(status, "lastState"), "terminated"), "exitCode");
  return c;
}

std::vector<ContainerView> read_containers(const Json& statuses) {
  std::vector<ContainerView> all;
  if (statuses.is_array())
    for (const Json& status : statuses) all.push_back(read_container(status));
  return all;
}

void read_conditions(const Json& conditions, PodView& pod) {
  if (!conditions.is_array()) return;
  for (const Json& condition : conditions) {
    const std::string type = text(condition, "type"), status = text(condition, "status");
    if (type == "Ready") pod.ready = status == "True";
    if (type == "PodScheduled" && status == "False" && text(condition, "reason") == "Unschedulable")
      pod.unscheduled = text(condition, "message");
    if (type == "DisruptionTarget" && status == "True")
      pod.disruption = text(condition, "reason") + ": " + text(condition, "message");
  }
}

std::string or_not_given(const std::string& value) { return value.empty() ? "N/A" : value; }

/// What its container says when it cannot start.
const ContainerView* stuck(const PodView& pod) {
  for (const std::vector<ContainerView>* list : {&pod.init_containers, &pod.containers})
    for (const ContainerView& c : *list)
      if (c.state == ContainerView::State::Waiting && c.reason != "ContainerCreating" &&
          c.reason != "PodInitializing" && !c.reason.empty())
        return &c;
  return nullptr;
}

std::string describe_state(const ContainerView& c, const std::string& indent) {
  using State = ContainerView::State;
  switch (c.state) {
    case State::None:
      return indent + "container state: N/A\n";
    case State::Waiting:
      return indent + "container state: waiting\n" + indent +
             "pending reason: " + or_not_given(c.reason) + "\n" +
             (c.message.empty() ? "" : indent + "pending message: " + c.message + "\n");
    case State::Running:
      return indent + "container state: running\n" + indent +
             "container started at: " + c.started_at + "\n";
    case State::Terminated:
      return indent + "container state: terminated\n" + indent +
             "container started at: " + or_not_given(c.started_at) + "\n" + indent +
             "container finished at: " + or_not_given(c.finished_at) + "\n" + indent +
             "exit code: " + std::to_string(c.exit_code) + "\n" + indent +
             "termination reason: " + or_not_given(c.reason) + "\n";
  }
  return {};
}

}  // namespace

std::string PodView::label(std::string_view name) const {
  const auto found = labels.find(std::string(name));
  return found == labels.end() ? std::string() : found->second;
}

PodView read_pod(const Json& json) {
  PodView pod;
  const Json& metadata = part(json, "metadata");
  pod.name = text(metadata, "name");
  pod.name_space = text(metadata, "namespace");
  pod.uid = text(metadata, "uid");
  pod.resource_version = text(metadata, "resourceVersion");
  pod.creation_time = text(metadata, "creationTimestamp");
  pod.deletion_time = text(metadata, "deletionTimestamp");
  for (const auto& [key, value] : part(metadata, "labels").items())
    if (value.is_string()) pod.labels[key] = value.get<std::string>();
  const Json& spec = part(json, "spec");
  pod.service_account = text(spec, "serviceAccountName");
  pod.node = text(spec, "nodeName");
  pod.restart_policy = text(spec, "restartPolicy");
  if (const Json& volumes = part(spec, "volumes"); volumes.is_array())
    for (const Json& volume : volumes) pod.volumes.push_back(text(volume, "name"));
  const Json& status = part(json, "status");
  pod.phase = text(status, "phase");
  pod.reason = text(status, "reason");
  pod.message = text(status, "message");
  pod.start_time = text(status, "startTime");
  pod.pod_ip = text(status, "podIP");
  read_conditions(part(status, "conditions"), pod);
  pod.init_containers = read_containers(part(status, "initContainerStatuses"));
  pod.containers = read_containers(part(status, "containerStatuses"));
  return pod;
}

std::string waiting_reason(const PodView& pod) {
  if (const ContainerView* c = stuck(pod))
    return c->reason + (c->message.empty() ? "" : ": " + c->message);
  return pod.unscheduled.empty() ? "" : "Unschedulable: " + pod.unscheduled;
}

bool waits_in_vain(const PodView& pod) {
  const ContainerView* c = stuck(pod);
  if (!c) return false;
  for (const char* reason :
       {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
        "CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
    if (c->reason == reason) return true;
  return false;
}

std::string describe_containers(const PodView& pod, const std::string& indent) {
  std::string text;
  for (const std::vector<ContainerView>* list : {&pod.init_containers, &pod.containers})
    for (const ContainerView& c : *list)
      text += indent + "container name: " + c.name + "\n" + indent + "container image: " + c.image +
              "\n" + describe_state(c, indent);
  return text.empty() ? indent + "N/A\n" : text;
}

std::string describe_pod(const PodView& pod) {
  std::string labels, volumes;
  for (const auto& [key, value] : pod.labels)
    labels += (labels.empty() ? "" : ", ") + key + " -> " + value;
  for (const std::string& v : pod.volumes) volumes += (volumes.empty() ? "" : ", ") + v;
  std::string text;
  const auto line = [&text](const std::string& name, const std::string& value) {
    text += "\n\t " + name + ": " + value;
  };
  line("pod name", pod.name);
  line("namespace", pod.name_space);
  line("labels", labels);
  line("pod uid", pod.uid);
  line("creation time", or_not_given(pod.creation_time));
  line("service account name", or_not_given(pod.service_account));
  line("volumes", or_not_given(volumes));
  line("node name", or_not_given(pod.node));
  line("start time", or_not_given(pod.start_time));
  line("phase", or_not_given(pod.phase));
  if (!pod.reason.empty()) line("reason", pod.reason);
  if (!pod.message.empty()) line("message", pod.message);
  if (!pod.unscheduled.empty()) line("unschedulable", pod.unscheduled);
  line("container status", "\n" + describe_containers(pod, "\t\t "));
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace tinderbox::core::kubernetes
