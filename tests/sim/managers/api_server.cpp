#include "tests/sim/managers/api_server.hpp"

#include <algorithm>

#include "core/deploy/kubernetes/names.hpp"

namespace tinderbox::sim {

using namespace core::kubernetes;

namespace {

ApiAnswered status(int code, const std::string& message) {
  return {0, code, Json{{"kind", "Status"}, {"code", code}, {"message", message}}.dump(), ""};
}

/// `%3D` is an equals sign, and so on.
std::string url_decoded(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%' || i + 2 >= text.size()) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
    i += 2;
  }
  return plain;
}

bool has_labels(const Json& object, const std::map<std::string, std::string>& labels) {
  const Json& metadata = object.at("metadata");
  const auto own = metadata.find("labels");
  return std::ranges::all_of(labels, [&](const auto& label) {
    return own != metadata.end() && own->value(label.first, "") == label.second;
  });
}

bool is_executor(const Json& pod) {
  static const std::map<std::string, std::string> kLabels = {{std::string(kRoleLabel), "executor"}};
  return has_labels(pod, kLabels);
}

bool has_ended(const Json& pod) {
  const std::string phase = pod.at("status").value("phase", "");
  return phase == "Succeeded" || phase == "Failed";
}

}  // namespace

std::string collection(const char* kind) { return api_path(kNamespace, kind); }

const std::string& text_of(const Json& object, const char* key) {
  return object.at("metadata").at(key).get_ref<const std::string&>();
}

// ---- requests ----------------------------------------------------------------------------------

/// `/api/v1/namespaces/NS/KIND[/NAME][?labelSelector=…]`
ApiServer::Query ApiServer::parse(const std::string& path) {
  Query query;
  const size_t end = path.find('?');
  std::string plain = path.substr(0, end);
  constexpr ptrdiff_t kToName = 6;
  if (std::ranges::count(plain, '/') == kToName) {
    query.name = plain.substr(plain.rfind('/') + 1);
    plain.resize(plain.rfind('/'));
  }
  query.collection = plain;
  const std::string key = "labelSelector=";
  const size_t at = end == path.npos ? path.npos : path.find(key, end);
  if (at == path.npos) return query;
  const size_t begin = at + key.size();
  std::string pairs = url_decoded(path.substr(begin, path.find('&', begin) - begin)) + ",";
  for (size_t cut; (cut = pairs.find(',')) != pairs.npos; pairs.erase(0, cut + 1)) {
    const size_t equals = pairs.find('=');
    query.labels[pairs.substr(0, equals)] = pairs.substr(equals + 1, cut - equals - 1);
  }
  return query;
}

ApiAnswered ApiServer::answer(const ApiRequest& request) {
  const Query query = parse(request.path);
  if (request.method == "POST") return create(query, request.body);
  if (request.method == "PATCH") return patch(query, request.body);
  if (request.method == "DELETE") return remove(query, request.body);
  if (query.name.empty()) return list(query);
  if (!has(query.collection, query.name)) return status(kNotFound, query.name + " not found");
  return {0, 200, objects_[query.collection][query.name].dump(), ""};
}

bool ApiServer::has(const std::string& kind, const std::string& name) const {
  const auto objects = objects_.find(kind);
  return objects != objects_.end() && objects->second.contains(name);
}

std::vector<std::string> ApiServer::selected(const Query& query) const {
  std::vector<std::string> names;
  const auto objects = objects_.find(query.collection);
  if (objects == objects_.end()) return names;
  for (const auto& [name, object] : objects->second)
    if (query.name.empty() ? has_labels(object, query.labels) : name == query.name)
      names.push_back(name);
  return names;
}

ApiAnswered ApiServer::list(const Query& query) const {
  Json items = Json::array();
  for (const std::string& name : selected(query))
    items.push_back(objects_.at(query.collection).at(name));
  return {
      0, 200,
      Json{{"metadata", {{"resourceVersion", std::to_string(version_)}}}, {"items", items}}.dump(),
      ""};
}

/// As at a real server the quota is looked at first: one whose answer was lost may hear of it
/// though its pod is there.
ApiAnswered ApiServer::create(const Query& query, const Bytes& body) {
  Json object = Json::parse(body);
  const std::string name = text_of(object, "name");
  const auto quota = quota_.find(query.collection);
  if (world_.now() < quota_until_ && quota != quota_.end() &&
      objects_[query.collection].size() >= quota->second) {
    told_.refused();
    return status(kForbidden, "\"" + name + "\" is forbidden: exceeded quota: small");
  }
  if (has(query.collection, name)) return status(kConflict, name + " already exists");
  add(object, query.collection);
  const Json& made = objects_[query.collection][name];
  if (query.collection == collection("pods")) told_.pod_made(made);
  return {0, 201, Json{{"metadata", made["metadata"]}}.dump(), ""};
}

void ApiServer::add(const Json& object, const std::string& kind) {
  Json& made = objects_[kind][text_of(object, "name")] = object;
  const std::string uid = "uid-" + std::to_string(++made_);
  made["metadata"]["uid"] = uid;
  uids_.insert(uid);
  stamp(made);
  for (const Json& owner : made["metadata"].value("ownerReferences", Json::array()))
    if (!uids_.contains(owner.value("uid", ""))) remove_dependents(owner.value("uid", ""));
  if (kind != collection("pods")) return;
  if (!made.contains("status")) made["status"] = {{"phase", "Pending"}};
  note(made, false);
}

ApiAnswered ApiServer::patch(const Query& query, const Bytes& body) {
  if (!has(query.collection, query.name)) return status(kNotFound, query.name + " not found");
  Json& object = objects_[query.collection][query.name];
  object.merge_patch(Json::parse(body));
  stamp(object);
  if (query.collection == collection("pods")) note(object, false);
  return {0, 200, Json{{"metadata", object["metadata"]}}.dump(), ""};
}

ApiAnswered ApiServer::remove(const Query& query, const Bytes& body) {
  const Json options = Json::parse(body);
  const std::string uid = options.value("preconditions", Json::object()).value("uid", "");
  const std::vector<std::string> names = selected(query);
  if (names.empty() && !query.name.empty()) return status(kNotFound, query.name + " not found");
  for (const std::string& name : names) {
    if (!uid.empty() && text_of(objects_[query.collection][name], "uid") != uid)
      return status(kConflict, name + " is another one by now");
    if (query.collection == collection("pods"))
      delete_pod(name, "", options.value("gracePeriodSeconds", int64_t{-1}));
    else
      remove_object(query.collection, name);
  }
  return {0, 200, query.name.empty() ? Json{{"items", names}}.dump() : "{}", ""};
}

// ---- what happens to objects -------------------------------------------------------------------

const Json* ApiServer::pod(const std::string& name, const std::string& uid) const {
  const auto pods = objects_.find(collection("pods"));
  if (pods == objects_.end()) return nullptr;
  const auto found = pods->second.find(name);
  return found == pods->second.end() || text_of(found->second, "uid") != uid ? nullptr
                                                                             : &found->second;
}

void ApiServer::change(const std::string& name, const std::function<void(Json& pod)>& change) {
  Json& pod = objects_[collection("pods")][name];
  change(pod);
  stamp(pod);
  note(pod, false);
}

/// One without a node is gone at once.
void ApiServer::delete_pod(const std::string& name, const std::string& why, int64_t grace) {
  const Json& now = objects_[collection("pods")][name];
  if (now["metadata"].contains("deletionTimestamp")) return;
  if (!now["spec"].contains("nodeName")) return remove_pod(name);
  if (grace < 0) grace = now["spec"].value("terminationGracePeriodSeconds", int64_t{30});
  change(name, [&](Json& pod) {
    pod["metadata"]["deletionTimestamp"] = "now";
    if (!why.empty())
      pod["status"]["conditions"].push_back(
          {{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", why}, {"message", "it"}});
  });
  told_.pod_leaves(objects_[collection("pods")][name], grace);
}

void ApiServer::remove_pod(const std::string& name) { remove_object(collection("pods"), name); }

void ApiServer::remove_object(const std::string& kind, const std::string& name) {
  Json object = std::move(objects_[kind][name]);
  objects_[kind].erase(name);
  stamp(object);
  uids_.erase(text_of(object, "uid"));
  const bool pod = kind == collection("pods");
  if (pod) note(object, true);
  if (pod) told_.pod_gone(object);
  remove_dependents(text_of(object, "uid"));
}

/// The garbage collector's work, a moment later.
void ApiServer::remove_dependents(const std::string& uid) {
  world_.after(nullptr, world_.random().between(Duration{10ms}, Duration{2s}), [this, uid] {
    std::vector<std::pair<std::string, std::string>> dependents;
    for (const auto& [kind, objects] : objects_)
      for (const auto& [name, object] : objects)
        for (const Json& owner : object["metadata"].value("ownerReferences", Json::array()))
          if (owner.value("uid", "") == uid) dependents.emplace_back(kind, name);
    for (const auto& [kind, name] : dependents)
      if (kind == collection("pods"))
        delete_pod(name, "");
      else
        remove_object(kind, name);
  });
}

std::vector<std::string> ApiServer::executor_pods() const {
  std::vector<std::string> names;
  const auto pods = objects_.find(collection("pods"));
  if (pods != objects_.end())
    for (const auto& [name, pod] : pods->second)
      if (is_executor(pod)) names.push_back(name);
  return names;
}

void ApiServer::set_quota(Time until) {
  for (const char* kind : {"pods", "persistentvolumeclaims"})
    quota_[collection(kind)] = objects_[collection(kind)].size();
  quota_until_ = until;
}

std::string ApiServer::left(bool kept) const {
  std::set<std::string> owners;  // that are kept
  for (const std::string& name : executor_pods())
    if (kept && has_ended(pod(name))) owners.insert(text_of(pod(name), "uid"));
  for (const auto& [kind, objects] : objects_)
    for (const auto& [name, object] : objects) {
      if (kind == collection("pods") && !is_executor(object)) continue;
      const Json of = object["metadata"].value("ownerReferences", Json::array());
      const bool belongs = !of.empty() && owners.contains(of[0].value("uid", ""));
      if (!belongs && !owners.contains(text_of(object, "uid"))) return kind + "/" + name;
    }
  return {};
}

// ---- watches -----------------------------------------------------------------------------------

void ApiServer::note(const Json& pod, bool deleted) {
  if (!is_executor(pod)) return;
  history_.push_back({version_, deleted, read_pod(pod)});
  told_.changed();
}

const PodChange* ApiServer::after(int64_t version) const {
  const auto found = std::ranges::upper_bound(history_, version, {}, &PodChange::version);
  return found == history_.end() ? nullptr : &*found;
}

/// Other objects of the cluster have changed meanwhile.
void ApiServer::forget_history() {
  history_.clear();
  forgotten_ = ++version_;
}

}  // namespace tinderbox::sim
