#include "core/deploy/kubernetes/submission/file_places.hpp"

#include "conf/keys.hpp"
#include "conf/values/resources.hpp"
#include "core/deploy/s3_access.hpp"

namespace tinderbox::core::kubernetes {
namespace {

/// A pod may wait long for its turn; a signature lasts no longer than this.
constexpr std::chrono::seconds kUrlLife = std::chrono::hours(7 * 24);

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool in_object_store(const std::string& url) {
  const std::string_view scheme = conf::scheme_of(url);
  return scheme == "s3a" || scheme == "s3";
}

/// As java.util.UUID prints it.
std::string with_dashes(std::string uuid) {
  for (const size_t at : {20, 16, 12, 8})
    if (at < uuid.size()) uuid.insert(at, "-");
  return uuid;
}

}  // namespace

std::string FilePlaces::place(const std::string& url, bool application) {
  const AppFile file = described(url, application);
  const auto [at, first] = placed_.emplace(file.name, url);
  if (first)
    in_pod_.push_back(file);
  else if (at->second != url)
    throw conf::Error("Two files are named " + file.name + ": " + at->second + " and " + url);
  return std::string(kAppDir) + "/" + file.name;
}

std::string FilePlaces::place_list(const std::string& list) {
  std::string placed;
  for (const std::string& entry : conf::resolve_list(list, "/", world_.list)) {
    const size_t hash = entry.find('#');
    std::string now = entry;
    if (conf::scheme_of(entry) == "file" || in_object_store(entry))
      now = "file://" + place(entry.substr(0, hash), false) +
            (hash == std::string::npos ? "" : entry.substr(hash));
    placed += (placed.empty() ? "" : ",") + now;
  }
  return placed;
}

AppFile FilePlaces::described(const std::string& url, bool application) {
  const std::string_view scheme = conf::scheme_of(url);
  const bool stored = in_object_store(url);
  if (stored || scheme == "http" || scheme == "https") {
    // A store's URL has the form, and its fragment the meaning, of a web server's.
    const Result<net::FetchSource> source =
        net::parse_source(stored ? "https" + url.substr(scheme.size()) : url);
    if (!source) throw conf::Error("Cannot submit " + url + ": " + source.error().message);
    return stored ? in_store(*source) : AppFile{source->url, source->name, source->sha256};
  }
  if (const auto path = conf::local_path(url)) return of_this_machine(url, *path, application);
  throw conf::Error("Cannot submit " + url +
                    ": it must be a path or a file:, local:, http:, https: or s3a: URL");
}

AppFile FilePlaces::of_this_machine(const std::string& url, const std::string& path,
                                    bool application) {
  if (application) world_.check_application(path);
  const Result<std::string> sum = world_.sha256(path);
  if (!sum) throw conf::Error("Cannot submit " + url + ": " + sum.error().message);
  AppFile file{"", base_name(path), *sum};
  send(path, file);
  return file;
}

/// The pod fetches it by a signature; it needs no credentials.
AppFile FilePlaces::in_store(const net::FetchSource& source) const {
  const auto object = net::parse_s3("s3" + source.url.substr(source.scheme.size()));
  const net::S3Access access = s3_access(conf_, world_.environment, object->bucket);
  return {net::presigned_url(access, *object, "GET", world_.now_ms, kUrlLife), source.name,
          source.sha256};
}

void FilePlaces::send(const std::string& path, AppFile& file) {
  if (const auto folder = conf_.get(conf::kKubernetesUploadPath)) return store(path, *folder, file);
  for (const Upload& u : uploads_)
    if (u.name == file.name) return;
  uploads_.push_back({path, file.name});
}

/// To `folder`/spark-upload-UUID/NAME, as Spark's.
void FilePlaces::store(const std::string& path, const std::string& folder, AppFile& file) {
  std::optional<net::S3Object> object = net::parse_s3(folder);
  if (!object)
    throw conf::Error(
        std::string(conf::kKubernetesUploadPath.spec.name) + "=" + folder +
        ": it must be s3a://BUCKET/FOLDER; without that key submit sends the files to "
        "the driver pod itself");
  if (!object->key.empty() && !object->key.ends_with('/')) object->key += '/';
  object->key += "spark-upload-" + with_dashes(world_.uuid) + "/" + file.name;
  const net::S3Access access = s3_access(conf_, world_.environment, object->bucket);
  const auto url = [&](const char* method) {
    return net::presigned_url(access, *object, method, world_.now_ms, kUrlLife);
  };
  file.url = url("GET");
  const std::string place = "s3a://" + object->bucket + "/" + object->key;
  for (const StoredFile& s : stored_)
    if (s.place == place) return;
  stored_.push_back({path, place, url("PUT"), file.url, url("DELETE")});
}

}  // namespace tinderbox::core::kubernetes
