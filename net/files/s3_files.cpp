#include "net/files/s3_files.hpp"

#include <absl/strings/escaping.h>
#include <openssl/evp.h>

#include <algorithm>
#include <limits>

#include "net/files/s3_answers.hpp"
#include "net/files/s3_upload.hpp"

namespace tinderbox::net {
namespace {

constexpr size_t kMostDeleted = 1000;  // keys in one request

Error not_s3(const std::string& path) {
  return Error{path + " names no bucket: it must be s3a://BUCKET/KEY"};
}

std::string md5_base64(const std::string& body) {
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned n = 0;
  EVP_Digest(body.data(), body.size(), sum, &n, EVP_md5(), nullptr);
  return absl::Base64Escape(std::string(reinterpret_cast<const char*>(sum), n));
}

std::string as_folder(std::string key) {
  if (!key.empty() && !key.ends_with('/')) key += '/';
  return key;
}

class S3Files final : public Files {
 public:
  S3Files(std::shared_ptr<HttpPool> pool, S3AccessOf access)
      : store_(std::move(pool), std::move(access)) {}

  Result<std::unique_ptr<ReadFile>> open(const std::string& path) override {
    const auto object = parse_s3(path);
    if (!object) return not_s3(path);
    const Result<RemoteName> name = store_.name_of(*object);
    if (!name) return name.error();
    const Result<std::optional<RemoteObject>> found = look_at(*store_.pool(), *name);
    if (!found) return found.error();
    if (!*found) return Error{"cannot read " + path + ": there is no such object"};
    return open_remote(store_.pool(), *name, **found);
  }

  Result<std::unique_ptr<WriteFile>> create(const std::string& path) override {
    const auto object = parse_s3(path);
    if (!object || object->key.empty()) return not_s3(path);
    return begin_upload(store_, *object);
  }

  Result<std::unique_ptr<WriteFile>> append(const std::string& path) override {
    return Error{"cannot add to " + path + ": an object of a store is written once"};
  }
  Result<bool> rename(const std::string& from, const std::string&) override {
    return Error{"cannot rename " + from + ": an object of a store keeps its name"};
  }

  Result<bool> remove(const std::string& path) override {
    const Result<std::optional<FileStat>> there = stat(path);
    if (!there) return there.error();
    if (!*there || (*there)->directory) return false;
    const Result<HttpReply> gone = store_.ask({"DELETE", *parse_s3(path)}, "remove " + path);
    return gone ? Result<bool>(true) : gone.error();
  }

  Result<bool> remove_tree(const std::string& path) override {
    const auto object = parse_s3(path);
    if (!object) return not_s3(path);
    const Result<S3Page> all = list_all({object->bucket, as_folder(object->key)}, "");
    if (!all) return all.error();
    for (size_t at = 0; at < all->objects.size(); at += kMostDeleted) {
      std::vector<std::string> keys;
      for (size_t i = at; i < std::min(at + kMostDeleted, all->objects.size()); ++i)
        keys.push_back(all->objects[i].key);
      if (Result<bool> gone = remove_keys(object->bucket, keys, path); !gone) return gone;
    }
    return !all->objects.empty();
  }

  Result<std::vector<FileEntry>> list(const std::string& directory) override {
    const auto object = parse_s3(directory);
    if (!object) return not_s3(directory);
    const std::string prefix = as_folder(object->key);
    const Result<S3Page> all = list_all({object->bucket, prefix}, "/");
    if (!all) return all.error();
    std::vector<FileEntry> entries;
    for (const S3Listed& o : all->objects)
      // The folder itself may be an object, as consoles make it.
      if (o.key.size() > prefix.size() && o.key.starts_with(prefix))
        entries.push_back({o.key.substr(prefix.size()), {false, o.size, o.modified}});
    for (const std::string& f : all->folders)
      if (f.size() > prefix.size() + 1 && f.starts_with(prefix))
        entries.push_back({f.substr(prefix.size(), f.size() - prefix.size() - 1), {true, 0, 0}});
    std::sort(entries.begin(), entries.end(),
              [](const FileEntry& a, const FileEntry& b) { return a.name < b.name; });
    return entries;
  }

  /// There is nothing to be made; the store says whether it would take anything.
  Result<bool> make_directories(const std::string& path) override {
    const auto object = parse_s3(path);
    if (!object) return not_s3(path);
    const Result<bool> any = is_folder(*object);
    return any ? Result<bool>(!*any) : any;
  }

  Result<int64_t> free_space(const std::string&) override {
    return std::numeric_limits<int64_t>::max();
  }

  Result<std::optional<FileStat>> stat(const std::string& path) override {
    const auto object = parse_s3(path);
    if (!object) return not_s3(path);
    if (!object->key.empty()) {
      const Result<RemoteName> name = store_.name_of(*object);
      if (!name) return name.error();
      const Result<std::optional<RemoteObject>> found = look_at(*store_.pool(), *name);
      if (!found) return found.error();
      if (*found) return std::optional(FileStat{false, (*found)->size, 0});
    }
    const Result<bool> folder = is_folder(*object);
    if (!folder) return folder.error();
    return *folder || object->key.empty() ? std::optional(FileStat{true, 0, 0})
                                          : std::optional<FileStat>();
  }

  Result<int64_t> discard_uncommitted(const std::string& directory) override {
    const auto object = parse_s3(directory);
    if (!object) return not_s3(directory);
    int64_t count = 0;
    S3Upload from;
    do {
      S3Query query{{"uploads", ""}, {"prefix", as_folder(object->key)}};
      if (!from.key.empty())
        query.insert({{"key-marker", from.key}, {"upload-id-marker", from.id}});
      const Result<HttpReply> reply =
          store_.ask({"GET", {object->bucket, ""}, query}, "list uploads to " + directory);
      if (!reply) return reply.error();
      const Result<S3Uploads> page = parse_s3_uploads(reply->body);
      if (!page) return Error{"cannot list uploads to " + directory + ": " + page.error().message};
      for (const S3Upload& upload : page->uploads) {
        // A store that knows no prefix would have all of the bucket's thrown away.
        if (!upload.key.starts_with(as_folder(object->key))) continue;
        const Result<bool> gone = abort_upload(store_, {object->bucket, upload.key}, upload.id);
        if (!gone) return gone.error();
        count += *gone ? 1 : 0;
      }
      from = page->next == from ? S3Upload{} : page->next;
    } while (!from.key.empty());
    return count;
  }

 private:
  Result<S3Page> list_page(const S3Object& at, const std::string& delimiter, int most,
                           const std::string& token) {
    S3Query query{{"list-type", "2"}, {"encoding-type", "url"}, {"prefix", at.key}};
    if (!delimiter.empty()) query.emplace("delimiter", delimiter);
    if (most > 0) query.emplace("max-keys", std::to_string(most));
    if (!token.empty()) query.emplace("continuation-token", token);
    const Result<HttpReply> reply =
        store_.ask({"GET", {at.bucket, ""}, query}, "list " + shown(at));
    if (!reply) return reply.error();
    Result<S3Page> page = parse_s3_page(reply->body);
    return page ? page : Error{"cannot list " + shown(at) + ": " + page.error().message};
  }

  Result<S3Page> list_all(const S3Object& at, const std::string& delimiter) {
    S3Page all;
    std::string token;
    do {
      Result<S3Page> page = list_page(at, delimiter, 0, token);
      if (!page) return page;
      std::move(page->objects.begin(), page->objects.end(), std::back_inserter(all.objects));
      std::move(page->folders.begin(), page->folders.end(), std::back_inserter(all.folders));
      if (page->next == token && !token.empty())
        return Error{"cannot list " + shown(at) + ": the store gives the same page again"};
      token = page->next;
    } while (!token.empty());
    return all;
  }

  Result<bool> is_folder(const S3Object& object) {
    const Result<S3Page> page = list_page({object.bucket, as_folder(object.key)}, "", 1, "");
    if (!page) return page.error();
    return !page->objects.empty() || !page->folders.empty();
  }

  Result<bool> remove_keys(const std::string& bucket, const std::vector<std::string>& keys,
                           const std::string& path) {
    std::string body = s3_keys_xml(keys);
    const std::map<std::string, std::string> headers{{"Content-MD5", md5_base64(body)}};
    const Result<HttpReply> gone = store_.ask(
        {"POST", {bucket, ""}, {{"delete", ""}}, std::move(body), headers}, "remove " + path);
    if (!gone) return gone.error();
    const std::string failure = parse_s3_late_failure(gone->body);
    return failure.empty() ? Result<bool>(true) : Error{"cannot remove " + path + ": " + failure};
  }

  S3Store store_;
};

}  // namespace

std::unique_ptr<Files> make_s3_files(std::shared_ptr<HttpPool> pool, S3AccessOf access) {
  return std::make_unique<S3Files>(std::move(pool), std::move(access));
}

}  // namespace tinderbox::net
