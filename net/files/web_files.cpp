#include "net/files/web_files.hpp"

#include "net/files/remote_file.hpp"
#include "net/http/url.hpp"

namespace tinderbox::net {
namespace {

constexpr int kMostRedirects = 10;

Error only_read(const std::string& path) {
  return Error{"cannot write to " + shown_url(path) +
               ": web servers are only read; name a path or an s3a: URL"};
}

class WebFiles final : public Files {
 public:
  explicit WebFiles(std::shared_ptr<HttpPool> pool) : pool_(std::move(pool)) {}

  Result<std::unique_ptr<ReadFile>> open(const std::string& path) override {
    const Result<Found> found = find(path);
    if (!found) return found.error();
    if (!found->object)
      return Error{"cannot read " + shown_url(path) + ": the server answered status 404"};
    return open_remote(pool_, name_of(path, found->url), *found->object);
  }
  Result<std::optional<FileStat>> stat(const std::string& path) override {
    const Result<Found> found = find(path);
    if (!found) return found.error();
    if (!found->object) return std::optional<FileStat>();
    return std::optional(FileStat{false, found->object->size, 0});
  }

  Result<std::unique_ptr<WriteFile>> create(const std::string& path) override {
    return only_read(path);
  }
  Result<std::unique_ptr<WriteFile>> append(const std::string& path) override {
    return only_read(path);
  }
  Result<bool> remove(const std::string& path) override { return only_read(path); }
  Result<bool> remove_tree(const std::string& path) override { return only_read(path); }
  Result<bool> rename(const std::string& from, const std::string&) override {
    return only_read(from);
  }
  Result<bool> make_directories(const std::string& path) override { return only_read(path); }
  Result<int64_t> free_space(const std::string&) override { return int64_t{0}; }
  Result<std::vector<FileEntry>> list(const std::string& path) override {
    return Error{"cannot list " + shown_url(path) + ": a web server has no directories"};
  }

 private:
  /// Where redirects led, and what is there.
  struct Found {
    std::string url;
    std::optional<RemoteObject> object;
  };

  static RemoteName name_of(const std::string& path, const std::string& url) {
    return {shown_url(path), [url] { return url; },
            [](const HttpReply& reply) {
              return "the server answered status " + std::to_string(reply.status);
            }};
  }

  Result<Found> find(const std::string& path) {
    std::string url = path;
    for (int hop = 0; hop <= kMostRedirects; ++hop) {
      const std::optional<Url> at = parse_url(url);
      if (!at || !at->scheme.starts_with("http"))
        return Error{"cannot read " + shown_url(path) + ": " + shown_url(url) +
                     " is not an http:// or https:// URL"};
      std::string moved;
      const Result<std::optional<RemoteObject>> found = look_at(*pool_, name_of(path, url), &moved);
      if (found) return Found{url, *found};
      if (moved.empty()) return found.error();
      moved = redirected(*at, moved);
      if (at->scheme == "https" && !moved.starts_with("https:"))
        return Error{"cannot read " + shown_url(path) + ": it redirects from https to " +
                     shown_url(moved) + ", which is not encrypted"};
      url = moved;
    }
    return Error{"cannot read " + shown_url(path) + ": more than " +
                 std::to_string(kMostRedirects) + " redirects"};
  }

  const std::shared_ptr<HttpPool> pool_;
};

}  // namespace

std::unique_ptr<Files> make_web_files(std::shared_ptr<HttpPool> pool) {
  return std::make_unique<WebFiles>(std::move(pool));
}

}  // namespace tinderbox::net
