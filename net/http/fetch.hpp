// Files by URL into a directory: file:, http(s):// and a driver's file server.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/types.hpp"

namespace tinderbox::net {

/// Takes the next bytes of a file, if any; false: stop, nobody wants the rest.
using BytesSink = std::function<bool(std::string_view)>;

/// Reads `name` from the file server at `address` (host:port) into `sink`; returns how many bytes
/// there were. Blocks; while it waits it asks the sink now and then, with no bytes, whether to go
/// on. It is how `spark://host:port/files/name` is read; the block plane gives it.
using PeerFile = std::function<Result<int64_t>(const std::string& address, const std::string& name,
                                               const BytesSink& sink)>;

struct FetchOptions {
  std::optional<std::string>
      sha256;              // 64 hex digits; a fragment `#sha256=HEX` of the URL says the same
  bool overwrite = false;  // replace a file of the same name with other bytes
  Duration timeout = std::chrono::seconds(60);  // without any byte
  PeerFile peer;
  const std::atomic<bool>* cancelled = nullptr;  // looked at between parts
};

/// What a URL with fragment names. `name`: of the file, without directories.
struct FetchSource {
  std::string url;     // without fragment
  std::string scheme;  // file, local, http, https, spark
  std::string name;
  std::string sha256;  // from the fragment; empty: none
};
/// `name#sha256=HEX`, `name#other-name`, or both joined by `&`. Errors: no file name, unknown
/// scheme, malformed checksum.
Result<FetchSource> parse_source(const std::string& url);

/// Fetches into `directory` (made when missing) and returns the path of the file, which appears
/// there whole or not at all and is executable. A file of that name with the same bytes is kept.
/// `local:` paths are returned as they are. Thread: any; blocks.
/// Errors, one line each: what can't be had and why; another checksum; an existing file with other
/// bytes. Source: Spark 4.3 Utils.fetchFile.
Result<std::string> fetch(const std::string& url, const std::string& directory,
                          const FetchOptions& options = {});

/// Why fetch_archive() would refuse `url` before it reads anything; nullopt: it would not.
std::optional<Error> archive_refusal(const std::string& url);

/// Fetches an archive and unpacks it to `directory`/NAME, NAME being the fragment or the file's
/// name. Kinds: .tar, .tar.gz, .tgz; a .jar or .zip is refused. Returns that path. Source:
/// Spark 4.3 spark.archives.
Result<std::string> fetch_archive(const std::string& url, const std::string& directory,
                                  const FetchOptions& options = {});

}  // namespace tinderbox::net
