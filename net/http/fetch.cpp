// Every kind of source is written to a hidden temporary beside its place, checked, then renamed.
#include "net/http/fetch.hpp"

#include <absl/strings/ascii.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "net/files/archive.hpp"
#include "net/files/files.hpp"
#include "net/files/sha256.hpp"
#include "net/http/http_client.hpp"
#include "net/http/url.hpp"
#include "net/names.hpp"
#include "net/process/launch.hpp"

namespace tinderbox::net {
namespace {

constexpr size_t kPart = 1 << 20;

Error failed(const std::string& what, const std::string& path, int error) {
  return Error{what + " '" + path + "': " + std::strerror(error)};
}

std::string percent_decoded(std::string_view text) {
  auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    bool escape = text[i] == '%' && i + 2 < text.size() &&
                  std::isxdigit(static_cast<unsigned char>(text[i + 1])) &&
                  std::isxdigit(static_cast<unsigned char>(text[i + 2]));
    out += escape ? static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])) : text[i];
    if (escape) i += 2;
  }
  return out;
}

bool is_sha256(const std::string& hex) {
  return hex.size() == 64 && hex.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// What stands before the colon of a URL; `file` for a plain path. A Windows-like or odd prefix is
/// a path.
std::string scheme_of(const std::string& url) {
  size_t colon = url.find(':');
  if (colon == std::string::npos || colon == 0 || url.find('/') < colon) return "file";
  std::string scheme = absl::AsciiStrToLower(url.substr(0, colon));
  for (char c : scheme)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '+' && c != '-' && c != '.')
      return "file";
  return scheme;
}

/// The path on this machine of a file: or local: URL or a plain path.
Result<std::string> local_path(const std::string& url) {
  size_t colon = url.find(':');
  std::string scheme = scheme_of(url);
  bool plain = colon == std::string::npos || absl::AsciiStrToLower(url.substr(0, colon)) != scheme;
  if (plain) return url;
  std::string rest = url.substr(colon + 1);
  if (rest.starts_with("//")) {
    size_t path = rest.find('/', 2);
    std::string host = rest.substr(2, path == std::string::npos ? path : path - 2);
    if ((!host.empty() && host != "localhost") || path == std::string::npos)
      return Error{"'" + url + "' names a file of another host: use " + scheme + ":///path"};
    rest = rest.substr(path);
  }
  return percent_decoded(rest);
}

/// A file that is being fetched; gone again unless it was kept.
class Temporary {
 public:
  Temporary(const std::string& directory, const std::string& name)
      : path_(directory + "/.fetch-" + name.substr(0, 64) + ".XXXXXX"),
        fd_(::mkostemp(path_.data(), O_CLOEXEC)) {}
  ~Temporary() {
    if (fd_) ::unlink(path_.c_str());
  }
  bool is_open() const { return static_cast<bool>(fd_); }
  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }

  /// False: the disk did not take it; error() says why.
  bool append(std::string_view part) {
    sha_.add(part);
    while (!part.empty()) {
      ssize_t n = ::write(fd_.get(), part.data(), part.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return error_ = errno, false;
      part.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  int error() const { return error_; }
  std::string sha256() { return sha_.hex(); }

 private:
  std::string path_;
  OwnedFd fd_;
  Sha256 sha_;
  int error_ = 0;
};

bool cancelled(const FetchOptions& o) { return o.cancelled != nullptr && *o.cancelled; }

/// Reads a local file into `sink`; sets `mode` to its permissions.
Result<int64_t> read_local(const std::string& path, const FetchOptions& options,
                           const BytesSink& sink, mode_t& mode) {
  OwnedFd in(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!in && (errno == ENOENT || errno == ENOTDIR))
    return Error{"file '" + path + "' does not exist"};
  struct stat stat {};
  if (!in || ::fstat(in.get(), &stat) != 0) return failed("cannot read", path, errno);
  if (S_ISDIR(stat.st_mode)) return Error{"'" + path + "' is a directory, not a file"};
  if (!S_ISREG(stat.st_mode)) return Error{"'" + path + "' is not a regular file"};
  mode = stat.st_mode & 0777;
  std::string part(kPart, 0);
  int64_t total = 0;
  for (;;) {
    ssize_t n = ::read(in.get(), part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("cannot read", path, errno);
    if (n == 0) return total;
    total += n;
    if (cancelled(options) || !sink({part.data(), static_cast<size_t>(n)}))
      return Error{"fetching '" + path + "' was stopped"};
  }
}

/// spark://host:port/files/NAME
Result<int64_t> read_peer(const std::string& url, const FetchOptions& options,
                          const BytesSink& sink) {
  std::string rest = url.substr(std::strlen("spark://"));
  size_t slash = rest.find('/');
  std::string path = slash == std::string::npos ? "" : rest.substr(slash);
  const std::string address = rest.substr(0, slash);
  if (!is_host_port(address) || (!path.starts_with("/files/") && !path.starts_with("/jars/")))
    return Error{"'" + url + "' is not of the form spark://host:port/files/name"};
  if (!options.peer)
    return Error{"cannot fetch '" + url + "': this role does not reach a driver's file server"};
  std::string name = percent_decoded(path.substr(path.find('/', 1) + 1));
  Result<int64_t> size = options.peer(
      address, name, [&](std::string_view bytes) { return !cancelled(options) && sink(bytes); });
  if (!size) return Error{"'" + url + "': " + size.error().message};
  return size;
}

Result<int64_t> read_source(const FetchSource& source, const FetchOptions& options,
                            const BytesSink& sink, mode_t& mode) {
  if (source.scheme == "spark") return read_peer(source.url, options, sink);
  if (source.scheme == "http" || source.scheme == "https") {
    HttpLimits limits;
    limits.timeout = options.timeout;
    limits.cancelled = options.cancelled;
    return http_download(source.url, sink, limits);
  }
  Result<std::string> path = local_path(source.url);
  if (!path) return path.error();
  return read_local(*path, options, sink, mode);
}

bool same_bytes(int a, const std::string& path) {
  OwnedFd b(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat sa {
  }, sb{};
  if (!b || ::fstat(a, &sa) != 0 || ::fstat(b.get(), &sb) != 0 || !S_ISREG(sb.st_mode) ||
      sa.st_size != sb.st_size)
    return false;
  std::string x(kPart, 0), y(kPart, 0);
  for (off_t at = 0; at < sa.st_size;) {
    ssize_t n = ::pread(a, x.data(), x.size(), at);
    if (n <= 0 || ::pread(b.get(), y.data(), static_cast<size_t>(n), at) != n ||
        std::memcmp(x.data(), y.data(), static_cast<size_t>(n)) != 0)
      return false;
    at += n;
  }
  return true;
}

Result<bool> make_directory(const std::string& directory) {
  for (size_t at = 1; at != std::string::npos;) {
    at = directory.find('/', at + 1);
    std::string part = directory.substr(0, at);
    if (::mkdir(part.c_str(), 0777) != 0 && errno != EEXIST)
      return failed("cannot create directory", part, errno);
  }
  return true;
}

/// Gives the fetched file its name and mode.
Result<std::string> keep(Temporary& file, const std::string& path, const std::string& shown,
                         mode_t mode, bool overwrite) {
  struct stat stat {};
  if (::lstat(path.c_str(), &stat) == 0) {
    if (same_bytes(file.fd(), path)) return path;
    if (!overwrite || S_ISDIR(stat.st_mode))
      return Error{"file '" + path + "' exists and does not match contents of '" + shown +
                   "': remove it, or allow overwriting"};
  }
  if (::fchmod(file.fd(), mode) != 0) return failed("cannot set the mode of", path, errno);
  if (::rename(file.path().c_str(), path.c_str()) != 0) return failed("cannot create", path, errno);
  return path;
}

mode_t creation_mask() {
  // The only way to ask sets it; /proc/self/status would be missing in an empty root.
  static const mode_t mask = [] {
    mode_t m = ::umask(022);
    ::umask(m);
    return m;
  }();
  return mask;
}

/// A directory of a random name that is removed with what it holds.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::string& parent) : path_(parent + "/.unpack-XXXXXX") {
    made_ = ::mkdtemp(path_.data()) != nullptr;
  }
  ~TemporaryDirectory() {
    if (made_) (void)make_real_files()->remove_tree(path_);
  }
  bool made() const { return made_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_ = false;
};

bool has_ending(const std::string& name, std::initializer_list<const char*> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](const char* e) { return absl::AsciiStrToLower(name).ends_with(e); });
}

}  // namespace

Result<FetchSource> parse_source(const std::string& url) {
  FetchSource out;
  size_t hash = url.rfind('#');
  out.url = url.substr(0, hash);
  out.scheme = scheme_of(out.url);
  for (std::string rest = hash == std::string::npos ? "" : url.substr(hash + 1); !rest.empty();) {
    std::string part = rest.substr(0, rest.find('&'));
    rest.erase(0, std::min(rest.size(), part.size() + 1));
    if (!part.starts_with("sha256=")) {
      out.name = part;
      continue;
    }
    out.sha256 = absl::AsciiStrToLower(part.substr(std::strlen("sha256=")));
    if (!is_sha256(out.sha256))
      return Error{"checksum '" + out.sha256 + "' of '" + shown_url(url) +
                   "' is not 64 hex digits"};
  }
  for (const char* known : {"file", "local", "http", "https", "spark"}) {
    if (out.scheme != known) continue;
    std::string path =
        out.url.substr(0, out.scheme.starts_with("http") ? out.url.find('?') : std::string::npos);
    if (size_t authority = path.find("://"); authority != std::string::npos)
      path = path.find('/', authority + 3) == std::string::npos ? "" : path;
    if (out.name.empty()) out.name = percent_decoded(path.substr(path.rfind('/') + 1));
    bool bad = out.name.empty() || out.name == "." || out.name == ".." ||
               out.name.find('/') != std::string::npos || out.name.find('\0') != std::string::npos;
    if (bad) return Error{"'" + shown_url(url) + "' names no file"};
    return out;
  }
  return Error{"'" + shown_url(url) + "' has the scheme '" + out.scheme +
               "', which is not supported: use a path, file:, http://, https:// or spark://"};
}

Result<std::string> fetch(const std::string& url, const std::string& directory,
                          const FetchOptions& options) {
  Result<FetchSource> source = parse_source(url);
  if (!source) return source.error();
  if (source->scheme == "local") return local_path(source->url);
  std::string wanted = options.sha256 ? absl::AsciiStrToLower(*options.sha256) : source->sha256;
  if (options.sha256 && !is_sha256(wanted))
    return Error{"checksum '" + *options.sha256 + "' is not 64 hex digits"};
  if (Result<bool> made = make_directory(directory); !made) return made.error();
  Temporary file(directory, source->name);
  if (!file.is_open()) return failed("cannot create a file in", directory, errno);
  mode_t mode = 0666;
  Result<int64_t> size = read_source(
      *source, options, [&](std::string_view p) { return file.append(p); }, mode);
  std::string shown = shown_url(source->url);
  if (file.error() != 0) return failed("cannot write '" + shown + "' to", directory, file.error());
  if (!size) return size.error();
  if (std::string got = file.sha256(); !wanted.empty() && got != wanted)
    return Error{"'" + shown + "' has the sha256 " + got + ", but " + wanted + " was expected"};
  // Executable, as Spark makes all that it fetches: scripts and programs are shipped so.
  mode = (mode | 0600 | 0111) & ~creation_mask();
  return keep(file, directory + "/" + source->name, shown, mode, options.overwrite);
}

std::optional<Error> archive_refusal(const std::string& url) {
  Result<FetchSource> source = parse_source(url);
  if (!source) return source.error();
  std::string plain = source->url.substr(0, source->url.find('?'));
  if (has_ending(plain, {".zip", ".jar"}))
    return Error{"archive '" + shown_url(source->url) +
                 "' is a zip, which is not supported: use .tar.gz"};
  if (!has_ending(plain, {".tar", ".tar.gz", ".tgz"}))
    return Error{"archive '" + shown_url(source->url) +
                 "' is of no known kind: use .tar, .tar.gz or .tgz"};
  return std::nullopt;
}

Result<std::string> fetch_archive(const std::string& url, const std::string& directory,
                                  const FetchOptions& options) {
  if (std::optional<Error> refusal = archive_refusal(url)) return *refusal;
  Result<FetchSource> source = parse_source(url);
  std::string place = directory + "/" + source->name;
  struct stat stat {};
  bool there = ::lstat(place.c_str(), &stat) == 0;
  if (there && !options.overwrite)
    return Error{"'" + place + "' exists already: archive '" + shown_url(source->url) +
                 "' was to be unpacked there"};
  if (Result<bool> made = make_directory(directory); !made) return made.error();
  TemporaryDirectory scratch(directory);
  if (!scratch.made()) return failed("cannot create a directory in", directory, errno);
  Result<std::string> archive = fetch(url, scratch.path(), options);
  if (!archive) return archive;
  std::string unpacked = scratch.path() + "/.unpacked";
  if (::mkdir(unpacked.c_str(), 0777) != 0)
    return failed("cannot create directory", unpacked, errno);
  if (Result<int64_t> files = unpack_tar(*archive, unpacked); !files) return files.error();
  if (there) (void)make_real_files()->remove_tree(place);
  if (::rename(unpacked.c_str(), place.c_str()) != 0) return failed("cannot create", place, errno);
  return place;
}

}  // namespace tinderbox::net
