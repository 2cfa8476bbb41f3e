// What machines ask of the Kubernetes API server, and what they hear of it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/deploy/kubernetes/pod_view.hpp"
#include "net/types.hpp"

namespace tinderbox::core::kubernetes {

using Json = nlohmann::json;

/// One request. `path` is encoded and has its query.
struct ApiRequest {
  std::string method;  // GET, POST, PATCH, DELETE
  std::string path;
  std::string content_type;  // of the body
  Bytes body;
  std::string file = {};  // whose bytes are the body, if it is given
  /// Of the answer: everything, or metadata alone, of one object or of each in a list.
  enum class Wanted : uint8_t { All, Names, ListOfNames } wanted = Wanted::All;
  bool operator==(const ApiRequest&) const = default;
};

/// Answers that callers tell apart. Source: Kubernetes API conventions, HTTP status codes.
inline constexpr int kUnauthorized = 401, kForbidden = 403, kNotFound = 404, kConflict = 409,
                     kGone = 410, kTooMany = 429;

// ---- effects -----------------------------------------------------------------------------------

/// Answered once by ApiAnswered. Requests may overtake each other.
struct CallApi {
  uint64_t ticket = 0;
  ApiRequest request;
  bool operator==(const CallApi&) const = default;
};
/// Streams pods: PodChanged again and again, then WatchEnded, unless the watch is stopped.
struct WatchApi {
  uint64_t ticket = 0;
  std::string path;
  bool operator==(const WatchApi&) const = default;
};
struct StopWatch {
  uint64_t ticket = 0;
  bool operator==(const StopWatch&) const = default;
};

// ---- events ------------------------------------------------------------------------------------

struct ApiAnswered {
  uint64_t ticket = 0;
  int status = 0;  // 0: none came
  Bytes body;
  std::string error;      // why none came
  bool arrived = true;    // the server may have got the request all the same
  bool hopeless = false;  // another try would end the same
  bool ok() const { return status >= 200 && status < 300; }
};
struct PodChanged {
  uint64_t ticket = 0;
  bool deleted = false;
  PodView pod;
};
/// Nothing happened up to this version.
struct WatchBookmark {
  uint64_t ticket = 0;
  std::string resource_version;
};
/// `status`: of an answer other than 200, or of an ERROR event (410: too old); 0: the stream just
/// ended, or broke. `pause`: so long a server that is too busy (429) wants to be left alone.
struct WatchEnded {
  uint64_t ticket = 0;
  int status = 0;
  std::string error;
  Duration pause{};
};

// ---- requests ----------------------------------------------------------------------------------

/// `/api/v1/namespaces/NS/pods` and, with a name, the object in it. `kind`: in the plural, with its
/// group before a slash: `networking.k8s.io/v1/networkpolicies`; without one: core/v1.
std::string api_path(std::string_view name_space, std::string_view kind,
                     std::string_view name = {});
/// The kind of an object as api_path takes it.
std::string kind_path(const Json& object);

ApiRequest get_object(std::string path);
ApiRequest create_object(std::string_view name_space, const Json& object);
/// Server-side apply: makes the object or brings it to this state; may be repeated.
ApiRequest apply_object(std::string_view name_space, const Json& object);
/// A JSON merge patch.
ApiRequest patch_object(std::string path, const Json& change);
/// All objects that `path` selects.
ApiRequest delete_all(std::string path);
/// `uid`: only that incarnation; empty: any. `grace`: seconds; negative: the object's own.
ApiRequest delete_object(std::string path, const std::string& uid = {}, int64_t grace = -1);

/// `key=value` pairs, encoded for a query's labelSelector.
std::string selector(std::initializer_list<std::pair<std::string_view, std::string_view>> labels);

/// In the API server's own words, with the status; one line.
std::string failure(const ApiAnswered& answer);
/// metadata.uid of an object in an answer; empty: there is none.
std::string uid_of(const Bytes& body);

}  // namespace tinderbox::core::kubernetes
