// Files of servers that answer GET: read in byte ranges where the server knows them, as a whole
// where not; ahead of the reader; from where a connection broke; and always of one version.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/files/files.hpp"
#include "net/http/http_pool.hpp"

namespace tinderbox::net {

/// How to ask for a file.
struct RemoteName {
  std::string shown;                                     // for errors
  std::function<std::string()> url;                      // for one GET that begins soon
  std::function<std::string(const HttpReply&)> failure;  // what an answer that is no file says
};

/// A file as it was when it was looked at.
struct RemoteObject {
  int64_t size = -1;    // negative: the server does not know it, or gives no ranges
  std::string version;  // its ETag or time; empty: the server tells none
  bool operator==(const RemoteObject&) const = default;
};

/// Asks for the first byte. None: status 404. Errors: `cannot read NAME: …`, also for a redirect,
/// whose target is left in `moved` if that is given.
Result<std::optional<RemoteObject>> look_at(HttpPool& pool, const RemoteName& name,
                                            std::string* moved = nullptr);

/// From expect() on its bytes are received by a thread of its own, 8 MiB before the reader. Errors:
/// the server's after some tries; the file is another one than `object`.
std::unique_ptr<ReadFile> open_remote(std::shared_ptr<HttpPool> pool, RemoteName name,
                                      RemoteObject object);

}  // namespace tinderbox::net
