// Submit's conversation with the API server: create a driver pod and what it owns, bring files to
// it or to an object store, tell how it goes. A machine.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/deploy/kubernetes/api.hpp"
#include "core/machine.hpp"

namespace tinderbox::core::kubernetes {

/// A file of this machine that the driver pod's init container waits for.
struct Upload {
  std::string path, name;
};

/// A file of this machine that goes to an object store, where the init container fetches it.
struct StoredFile {
  std::string path;
  std::string place;                         // s3a://…, for messages
  std::string put_url, get_url, delete_url;  // good without further credentials
};

struct SubmissionOptions {
  std::string app_name, app_id, name_space, pod_name;
  std::vector<Bytes> objects;  // JSON; the pod first
  std::vector<StoredFile> stored;
  std::vector<Upload> uploads;
  bool wait = true;  // for the end of the application
  Duration report_interval = std::chrono::seconds(1);
  /// So long a container may wait for what it will never get, such as an image that is not there.
  Duration patience = std::chrono::minutes(2);
};

/// Lines for a person, on stderr; the first is a log record.
struct Report {
  std::string text;
  bool operator==(const Report&) const = default;
};

// ---- events beside ApiAnswered, PodChanged, WatchBookmark, WatchEnded

struct StartSubmission {};
struct SubmissionTimer {
  enum class Kind : uint8_t { Report, Retry, Patience, Watch } kind{};
  uint64_t id = 0;
  bool operator==(const SubmissionTimer&) const = default;
};

// ---- effects beside CallApi, WatchApi, After<SubmissionTimer>, Exit -------------------------

/// PUT the bytes of a local file to `path` of the API server; answered by ApiAnswered.
struct SendFile {
  uint64_t ticket = 0;
  std::string path, file;
  bool operator==(const SendFile&) const = default;
};

/// PUT the bytes of a local file to `url` of an object store, DELETE it there, or GET a byte of it;
/// answered by ApiAnswered, whose body is the store's.
struct AskStore {
  uint64_t ticket = 0;
  std::string method, url, file;
  bool operator==(const AskStore&) const = default;
};

/// Order: what goes to an object store, as the pod fetches it at once; the pod, alone. It begins
/// once its config map is there, which comes last, and ends by itself when that does not come; all
/// else belongs to it. So wherever this ends, nothing stays in the cluster; the store gets back
/// what no pod will fetch, unless this process is killed. Source: Spark 4.3
/// deploy.k8s.submit.Client, LoggingPodStatusWatcherImpl.
class Submission {
 public:
  using Event = std::variant<StartSubmission, ApiAnswered, PodChanged, WatchBookmark, WatchEnded,
                             SubmissionTimer>;
  using Effect =
      std::variant<CallApi, WatchApi, SendFile, AskStore, After<SubmissionTimer>, Report, Exit>;
  using Effects = std::vector<Effect>;

  explicit Submission(SubmissionOptions options);
  void on(const Event& event, Time now, Effects& out);

 private:
  enum class Step : uint8_t {
    Store,
    StoreProbe,
    Pod,
    FindPod,
    Dependents,
    Uploads,
    Waiting,
    Removing,
    Unstore,
    Ended
  };

  void on(const StartSubmission&, Effects& out);
  void on(const ApiAnswered& e, Effects& out);
  void on(const PodChanged& e, Effects& out);
  void on(const WatchBookmark& e, Effects& out);
  void on(const WatchEnded& e, Effects& out);
  void on(const SubmissionTimer& e, Effects& out);

  void call(ApiRequest request, Effects& out);
  void repeat(Effects& out);
  bool worth_another_try(const ApiAnswered& e) const;
  void next_stored(Effects& out);
  void ask_store(Effects& out);
  void stored_answered(const ApiAnswered& e, Effects& out);
  void probe_answered(const ApiAnswered& e, Effects& out);
  void not_stored(const std::string& why, Effects& out);
  void unstore(Effects& out);
  void try_again(Effects& out);
  void pod_answered(const ApiAnswered& e, Effects& out);
  void pod_found(const ApiAnswered& e, Effects& out);
  void dependent_answered(const ApiAnswered& e, Effects& out);
  void upload_answered(const ApiAnswered& e, Effects& out);
  void removal_answered(const ApiAnswered& e, Effects& out);
  void next_dependent(Effects& out);
  nlohmann::json dependent() const;
  void deployed(Effects& out);
  void next_upload(Effects& out);
  void send_file(Effects& out);
  void pod_is_there(const PodView& pod, Effects& out);
  std::string own_pod() const;
  void watch(Effects& out);
  void follow(Effects& out);
  void looked(const ApiAnswered& e, Effects& out);
  void may_watch();
  bool may_pass(int status);
  void cannot_watch(int status, const std::string& why, Duration pause, Effects& out);
  void shown(const PodView& pod, bool deleted, Effects& out);
  void look_at_receiver(Effects& out);
  void look_for_trouble(Effects& out);
  void fail(const std::string& reason, Effects& out);
  void finish(Effects& out);
  void give_up(const std::string& reason, Effects& out);
  bool gives_up() const { return step_ == Step::Removing || step_ == Step::Unstore; }
  void exit(int code, const std::string& reason, Effects& out);
  std::string pod_path() const;
  std::string submission_id() const { return options_.name_space + ":" + options_.pod_name; }

  const SubmissionOptions options_;
  Step step_ = Step::Store;
  uint64_t ticket_ = 0;                      // of the request or file under way
  uint64_t background_ = uint64_t{1} << 63;  // what goes on beside that is counted from here
  uint64_t watch_ = 0, look_ = 0;
  uint64_t timer_ = 0;
  uint64_t retry_ = 0;
  int tries_ = 0;
  bool watched_ = false;        // the watch has shown something: a refusal may pass
  int refusals_ = 0;            // of the watch since it last showed something
  bool maybe_created_ = false;  // a request for the pod was cut
  bool receiving_ = false;      // its init container runs
  size_t next_ = 0;             // stored file, object or upload
  size_t stored_ = 0;           // so many files may be in the store
  bool maybe_stored_ = false;   // the file under way may be there
  std::string uid_, version_;
  ApiRequest request_;  // the last one, for another try
  std::optional<PodView> pod_;
  uint64_t trouble_ = 0;  // of the timer that waits for it to pass
  std::string failure_;
};

}  // namespace tinderbox::core::kubernetes
