#include "core/deploy/kubernetes/submission/submission.hpp"

#include <absl/strings/ascii.h>

#include <nlohmann/json.hpp>

#include "core/deploy/kubernetes/names.hpp"
#include "core/deploy/kubernetes/objects/application.hpp"
#include "core/deploy/kubernetes/objects/driver_objects.hpp"
#include "core/status/exit_codes.hpp"
#include "net/files/s3.hpp"
#include "net/http/http_session.hpp"

namespace tinderbox::core::kubernetes {
namespace {

using Kind = SubmissionTimer::Kind;

constexpr int kTries = 6;
constexpr int kRefusals = 30;  // of the watch, one a report interval, when it was allowed before
constexpr Duration kFirstPause = std::chrono::milliseconds(100);  // doubled with each try
constexpr int kUploadTries = 100;
constexpr Duration kUploadPause = std::chrono::milliseconds(50);

/// Webhooks put others beside it. Null: the pod's status does not list it yet.
const ContainerView* receiver_of(const PodView& pod) {
  for (const ContainerView& c : pod.init_containers)
    if (c.name == kInitName) return &c;
  return nullptr;
}

bool has_ended(const PodView& pod) { return pod.phase == "Succeeded" || pod.phase == "Failed"; }

}  // namespace

Submission::Submission(SubmissionOptions options) : options_(std::move(options)) {}

void Submission::on(const Event& event, Time, Effects& out) {
  if (step_ != Step::Ended) std::visit([&](const auto& e) { this->on(e, out); }, event);
}

void Submission::on(const StartSubmission&, Effects& out) { next_stored(out); }

/// Begins, or ends, when there is nothing (more) to store.
void Submission::next_stored(Effects& out) {
  if (next_ < options_.stored.size()) {
    tries_ = 0;
    maybe_stored_ = false;
    return ask_store(out);
  }
  next_ = 0;
  step_ = Step::Pod;
  call(create_object(options_.name_space, Json::parse(options_.objects[0])), out);
}

void Submission::ask_store(Effects& out) {
  const StoredFile& file = options_.stored[next_];
  ++tries_;
  out.push_back(AskStore{++ticket_, "PUT", file.put_url, file.path});
}

void Submission::stored_answered(const ApiAnswered& e, Effects& out) {
  if (e.ok()) {
    stored_ = ++next_;
    return next_stored(out);
  }
  maybe_stored_ |= e.status == 0 ? e.arrived && !e.hopeless : e.status >= 500;
  if (e.status == 0 && e.arrived && tries_ == 1) {
    step_ = Step::StoreProbe;
    out.push_back(AskStore{++ticket_, "GET", options_.stored[next_].get_url, {}});
    return;
  }
  if (worth_another_try(e)) return try_again(out);
  not_stored(e.status == 0 ? e.error : net::s3_failure(e.status, e.body).text, out);
}

/// A store that does not want a file may end the connection while it comes, and nobody hears why.
/// So it is asked for the file: it says why not, or has it after all.
void Submission::probe_answered(const ApiAnswered& e, Effects& out) {
  step_ = Step::Store;
  if (e.ok()) return stored_answered(e, out);
  const net::S3Failure why = net::s3_failure(e.status, e.body);
  const bool says_nothing =
      why.code.empty() || why.code == "NoSuchKey" || why.code == "AccessDenied";
  if (says_nothing || e.status >= 500) return try_again(out);
  maybe_stored_ = false;
  not_stored(why.text, out);
}

void Submission::not_stored(const std::string& why, Effects& out) {
  const StoredFile& file = options_.stored[next_];
  if (maybe_stored_) stored_ = next_ + 1;
  give_up("cannot store " + file.path + " as " + file.place + ": " + why, out);
}

/// The store gets back what it has, last first; then this ends.
void Submission::unstore(Effects& out) {
  step_ = Step::Unstore;
  if (stored_ == 0) return exit(kExitFailure, failure_, out);
  out.push_back(AskStore{++ticket_, "DELETE", options_.stored[--stored_].delete_url, {}});
}

void Submission::call(ApiRequest request, Effects& out) {
  request_ = std::move(request);
  tries_ = 0;
  repeat(out);
}

void Submission::repeat(Effects& out) {
  ++tries_;
  out.push_back(CallApi{++ticket_, request_});
}

/// No answer, or one that says: not now.
bool Submission::worth_another_try(const ApiAnswered& e) const {
  return tries_ < kTries && !e.hopeless && (e.status == 0 || e.status >= 500);
}

void Submission::try_again(Effects& out) {
  retry_ = ++timer_;
  out.push_back(After<SubmissionTimer>{kFirstPause * (1 << tries_), {Kind::Retry, retry_}});
}

void Submission::on(const ApiAnswered& e, Effects& out) {
  if (e.ticket == look_) return looked(e, out);
  if (e.ticket != ticket_) return;
  switch (step_) {
    case Step::Store:
      return stored_answered(e, out);
    case Step::StoreProbe:
      return probe_answered(e, out);
    case Step::Pod:
      return pod_answered(e, out);
    case Step::FindPod:
      return pod_found(e, out);
    case Step::Dependents:
      return dependent_answered(e, out);
    case Step::Uploads:
      return upload_answered(e, out);
    case Step::Removing:
      return removal_answered(e, out);
    case Step::Unstore:
      if (!e.ok()) failure_ += "; " + options_.stored[stored_].place + " may still be there";
      return unstore(out);
    case Step::Waiting:
    case Step::Ended:
      return;
  }
}

void Submission::pod_answered(const ApiAnswered& e, Effects& out) {
  if (e.ok()) return pod_is_there(read_pod(Json::parse(e.body, nullptr, false)), out);
  if (e.status == kConflict) {
    step_ = Step::FindPod;
    return call(get_object(pod_path()), out);
  }
  maybe_created_ |= e.status == 0 && e.arrived;
  if (worth_another_try(e)) return try_again(out);
  const std::string what = "cannot create the driver pod " + options_.pod_name + " in namespace " +
                           options_.name_space + ": " + failure(e);
  give_up(what + (maybe_created_ ? "; whether it was created is not known" : ""), out);
}

/// A pod of this name is there: ours, if an answer got lost.
void Submission::pod_found(const ApiAnswered& e, Effects& out) {
  if (!e.ok() && worth_another_try(e)) return try_again(out);
  const PodView pod = read_pod(Json::parse(e.body, nullptr, false));
  if (e.ok() && pod.label(kAppLabel) == options_.app_id) return pod_is_there(pod, out);
  give_up("a pod named " + options_.pod_name + " is in namespace " + options_.name_space +
              " already: choose another spark.kubernetes.driver.pod.name or delete it",
          out);
}

void Submission::pod_is_there(const PodView& pod, Effects& out) {
  uid_ = pod.uid;
  version_ = pod.resource_version;
  step_ = Step::Dependents;
  next_dependent(out);
}

void Submission::next_dependent(Effects& out) {
  if (++next_ == options_.objects.size()) return deployed(out);
  call(create_object(options_.name_space, dependent()), out);
}

Json Submission::dependent() const {
  Json object = Json::parse(options_.objects[next_]);
  set_owner(object, options_.pod_name, uid_);
  return object;
}

void Submission::dependent_answered(const ApiAnswered& e, Effects& out) {
  if (e.ok()) return next_dependent(out);
  // Made by a try whose answer got lost, or by somebody else: brought to this state. Not done at
  // once, as it costs the API server twice as much.
  if (e.status == kConflict && request_.method == "POST")
    return call(apply_object(options_.name_space, dependent()), out);
  if (worth_another_try(e)) return try_again(out);
  const Json object = Json::parse(options_.objects[next_]);
  fail("cannot create " + object.at("kind").get<std::string>() + " " +
           object.at("metadata").at("name").get<std::string>() + " in namespace " +
           options_.name_space + ": " + failure(e),
       out);
}

void Submission::removal_answered(const ApiAnswered& e, Effects& out) {
  // A conflict: what has its name is another pod.
  const bool gone = e.ok() || e.status == kNotFound || e.status == kConflict;
  if (!gone && worth_another_try(e)) return try_again(out);
  if (!gone) failure_ += "; the pod " + options_.pod_name + " may still be there";
  unstore(out);
}

/// All objects are there.
void Submission::deployed(Effects& out) {
  next_ = 0;
  if (!options_.uploads.empty()) {
    step_ = Step::Uploads;
    return watch(out);
  }
  next_upload(out);
}

/// Begins, or ends, when there is nothing (more) to send.
void Submission::next_upload(Effects& out) {
  if (next_ < options_.uploads.size()) {
    tries_ = 0;
    return send_file(out);
  }
  if (!options_.wait) {
    out.push_back(Report{"Deployed Spark application " + options_.app_name +
                         " with application ID " + options_.app_id + " and submission ID " +
                         submission_id() + " into Kubernetes"});
    return exit(kExitOk, "", out);
  }
  step_ = Step::Waiting;
  out.push_back(Report{"Waiting for application " + options_.app_name + " with application ID " +
                       options_.app_id + " and submission ID " + submission_id() +
                       " to finish..."});
  out.push_back(After<SubmissionTimer>{options_.report_interval, {Kind::Report, ++timer_}});
  if (watch_ == 0) watch(out);
}

void Submission::send_file(Effects& out) {
  const Upload& upload = options_.uploads[next_];
  const std::string pod =
      "/http:" + options_.pod_name + ":" + std::to_string(kReceivePort) + "/proxy/";
  out.push_back(SendFile{
      ++ticket_, api_path(options_.name_space, "pods") + pod + net::url_encoded(upload.name),
      upload.path});
}

void Submission::upload_answered(const ApiAnswered& e, Effects& out) {
  if (e.ok()) {
    ++next_;
    return next_upload(out);
  }
  // The container runs, but does not listen yet; or the API server does not know its address.
  const bool passes = e.status == 0 || e.status >= 500 || e.status == kNotFound;
  if (passes && !e.hopeless && ++tries_ < kUploadTries) {
    retry_ = ++timer_;
    out.push_back(After<SubmissionTimer>{kUploadPause, {Kind::Retry, retry_}});
    return;
  }
  fail("cannot send " + options_.uploads[next_].path + " to the driver pod: " + failure(e) +
           (e.status == kForbidden
                ? "; set spark.kubernetes.file.upload.path, or put the file into the "
                  "image and name it by local:"
                : ""),
       out);
}

std::string Submission::own_pod() const {
  return api_path(options_.name_space, "pods") + "?fieldSelector=metadata.name%3D" +
         net::url_encoded(options_.pod_name);
}

/// From the last version that is known on; without one the present state comes first. A watch does
/// not tell of a pod that was gone when it began.
void Submission::watch(Effects& out) {
  if (!version_.empty()) return follow(out);
  look_ = ++background_;
  out.push_back(CallApi{look_, get_object(own_pod())});
}

void Submission::follow(Effects& out) {
  watch_ = ++background_;
  std::string path = own_pod() + "&allowWatchBookmarks=true&watch=true";
  if (!version_.empty()) path += "&resourceVersion=" + version_;
  out.push_back(WatchApi{watch_, path});
}

/// The list has one pod or none, and a version that is as new as it is: the pod's own may be too
/// old to watch from.
void Submission::looked(const ApiAnswered& e, Effects& out) {
  if (gives_up()) return;
  if (!e.ok()) return cannot_watch(e.status, failure(e), {}, out);
  const Json list = Json::parse(e.body, nullptr, false);
  if (!list.is_object() || !list.value("items", Json()).is_array())
    return cannot_watch(0, "no list came", {}, out);
  const PodView found = list["items"].empty() ? PodView{} : read_pod(list["items"][0]);
  const bool gone = list["items"].empty() || (!uid_.empty() && found.uid != uid_);
  if (!gone) {
    shown(found, false, out);
  } else {
    PodView last = pod_.value_or(PodView{});
    last.name = options_.pod_name;
    last.name_space = options_.name_space;
    shown(last, true, out);
  }
  if (step_ == Step::Ended || gives_up()) return;
  version_ = read_pod(list).resource_version;
  follow(out);
}

void Submission::on(const WatchBookmark& e, Effects&) {
  if (e.ticket != watch_) return;
  may_watch();
  version_ = e.resource_version;
}

/// What it shows, it lets us see.
void Submission::may_watch() {
  watched_ = true;
  refusals_ = 0;
}

void Submission::on(const PodChanged& e, Effects& out) {
  if (e.ticket != watch_ || gives_up()) return;
  may_watch();
  if (!uid_.empty() && e.pod.uid != uid_) return;
  version_ = e.pod.resource_version;
  shown(e.pod, e.deleted, out);
}

void Submission::shown(const PodView& pod, bool deleted, Effects& out) {
  const bool told = pod_ && describe_pod(*pod_) == describe_pod(pod) && !deleted;
  pod_ = pod;
  if (deleted) pod_->phase = "Deleted";
  if (!told) out.push_back(Report{"State changed, new state: " + describe_pod(*pod_)});
  if (step_ == Step::Uploads) look_at_receiver(out);
  if (step_ == Step::Ended) return;
  if (deleted || has_ended(*pod_)) return finish(out);
  look_for_trouble(out);
}

/// Its good end says that it has all files, also where the answer to the last one got lost.
void Submission::look_at_receiver(Effects& out) {
  const ContainerView* receiver = receiver_of(*pod_);
  if (!receiver) return;
  if (receiver->state == ContainerView::State::Terminated && receiver->exit_code == 0) {
    next_ = options_.uploads.size();
    retry_ = 0;
    return next_upload(out);
  }
  if (receiver->state != ContainerView::State::Running || receiving_) return;
  receiving_ = true;
  next_upload(out);
}

/// Something that will not pass by itself is given a while all the same.
void Submission::look_for_trouble(Effects& out) {
  if (!waits_in_vain(*pod_)) {
    trouble_ = 0;
  } else if (trouble_ == 0) {
    trouble_ = ++timer_;
    out.push_back(After<SubmissionTimer>{options_.patience, {Kind::Patience, trouble_}});
  }
}

void Submission::on(const WatchEnded& e, Effects& out) {
  if (e.ticket != watch_ || gives_up()) return;
  cannot_watch(e.status, e.error, e.pause, out);
}

/// A server that began again refuses what it let us do before, until it has read who may do what.
bool Submission::may_pass(int status) {
  if (status == kUnauthorized || status == kForbidden) return watched_ && ++refusals_ <= kRefusals;
  return status < 400 || status >= 500 || status == kGone || status == kTooMany;
}

/// It is tried again a little later, unless that would end the same.
void Submission::cannot_watch(int status, const std::string& why, Duration pause, Effects& out) {
  // Its versions are forgotten there: begin with the present state.
  if (status == kGone) version_.clear();
  if (!may_pass(status)) {
    const std::string reason = "cannot watch the driver pod: " + why;
    // Without its files the pod is of no use.
    return step_ == Step::Uploads ? fail(reason, out) : exit(kExitFailure, reason, out);
  }
  out.push_back(
      After<SubmissionTimer>{std::max(options_.report_interval, pause), {Kind::Watch, ++timer_}});
}

void Submission::on(const SubmissionTimer& e, Effects& out) {
  switch (e.kind) {
    case Kind::Retry:
      if (e.id != retry_) return;
      if (step_ == Step::Store) return ask_store(out);
      return step_ == Step::Uploads ? send_file(out) : repeat(out);
    case Kind::Patience:
      if (e.id == trouble_)
        fail("the driver pod " + options_.pod_name + " cannot start: " + waiting_reason(*pod_),
             out);
      return;
    case Kind::Watch:
      if (!gives_up()) watch(out);
      return;
    case Kind::Report:
      if (step_ != Step::Waiting) return;
      out.push_back(Report{"Application status for " + options_.app_id +
                           " (phase: " + (pod_ ? pod_->phase : "unknown") + ")"});
      out.push_back(After<SubmissionTimer>{options_.report_interval, {Kind::Report, ++timer_}});
  }
}

/// The pod goes, and with it all that it owns; the rest is the garbage collector's.
void Submission::fail(const std::string& reason, Effects& out) {
  failure_ = reason;
  retry_ = 0;  // of a file
  step_ = Step::Removing;
  call(delete_object(pod_path(), uid_), out);
}

void Submission::finish(Effects& out) {
  std::string final = describe_containers(*pod_, "\t ");
  while (final.ends_with('\n')) final.pop_back();
  out.push_back(Report{"Container final statuses:\n\n" + final});
  if (step_ == Step::Uploads)
    return give_up("the driver pod " + options_.pod_name +
                       " ended before it had its files; kubectl logs " + options_.pod_name +
                       " -c " + kInitName + " tells more",
                   out);
  out.push_back(Report{"Application " + options_.app_name + " with application ID " +
                       options_.app_id + " and submission ID " + submission_id() + " finished"});
  exit(kExitOk, "", out);
}

/// There is no pod that could fetch anything.
void Submission::give_up(const std::string& reason, Effects& out) {
  failure_ = reason;
  unstore(out);
}

void Submission::exit(int code, const std::string& reason, Effects& out) {
  step_ = Step::Ended;
  out.push_back(Exit{code, reason});
}

std::string Submission::pod_path() const {
  return api_path(options_.name_space, "pods", options_.pod_name);
}

}  // namespace tinderbox::core::kubernetes
