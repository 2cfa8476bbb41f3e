// The init role: fetches an application's files into a directory and checks them, before anything
// runs.
#include "cmd/process_conf.hpp"
#include "cmd/roles/roles.hpp"
#include "core/executor/app_files.hpp"
#include "core/status/exit_codes.hpp"
#include "net/http/fetch.hpp"
#include "net/http/file_receiver.hpp"
#include "net/log.hpp"

namespace tinderbox::cmd {
namespace {

struct InitOptions {
  std::string directory = ".";
  std::vector<std::string> urls;
  std::vector<std::string> archives;
  std::vector<std::string> checksums;  // of the urls, in their order
  int receive = 0;                     // port
  std::vector<std::string> expected;   // NAME#sha256=HEX
  ProcessConfOptions conf;
};

/// `sha256:HEX` → HEX. Errors: conf::Error for another kind.
std::string sha256_of(const std::string& checksum) {
  constexpr std::string_view kKind = "sha256:";
  if (!checksum.starts_with(kKind))
    throw conf::Error("--checksum '" + checksum + "' is not of the form sha256:HEX");
  return checksum.substr(kKind.size());
}

/// Tells on stderr how it went; a file that can't be had doesn't keep the others out.
bool told(const std::string& url, const Result<std::string>& path) {
  if (path)
    net::write_error(url + " -> " + *path + "\n");
  else
    net::write_error("Error: " + path.error().message + "\n");
  return static_cast<bool>(path);
}

/// What submit sends to a driver's pod.
bool received(const InitOptions& o) {
  net::ReceiveOptions options;
  options.port = o.receive;
  options.directory = o.directory;
  for (const std::string& one : o.expected) {
    const size_t hash = one.rfind("#sha256=");
    if (hash == std::string::npos || one.find('/') != std::string::npos)
      throw conf::Error("--expect '" + one + "' is not of the form NAME#sha256=HEX");
    options.files.push_back({one.substr(0, hash), one.substr(hash + 8)});
  }
  const Result<bool> all = net::receive_files(options);
  if (!all) net::write_error("Error: " + all.error().message + "\n");
  return static_cast<bool>(all);
}

int run(const InitOptions& o) {
  if ((o.receive == 0) != o.expected.empty())
    throw conf::Error("--receive and --expect belong together");
  if (o.urls.empty() && o.archives.empty() && o.expected.empty())
    throw conf::Error("init was given nothing to fetch: name at least one URL");
  if (o.checksums.size() > o.urls.size())
    throw conf::Error("init was given " + std::to_string(o.checksums.size()) + " checksums for " +
                      std::to_string(o.urls.size()) + " URLs");
  conf::Conf conf = process_conf(o.conf);
  warn_of_misspellings(conf, o.conf);
  std::vector<std::optional<std::string>> sums;
  for (const std::string& checksum : o.checksums) sums.emplace_back(sha256_of(checksum));
  sums.resize(o.urls.size());
  bool good = o.expected.empty() || received(o);
  for (size_t i = 0; i < o.urls.size(); ++i) {
    net::FetchOptions options = core::fetch_options(conf);
    options.sha256 = sums[i];
    Result<net::FetchSource> source = net::parse_source(o.urls[i]);
    good &= told(source ? source->name : o.urls[i], net::fetch(o.urls[i], o.directory, options));
  }
  for (const std::string& url : o.archives) {
    Result<net::FetchSource> source = net::parse_source(url);
    good &= told(source ? source->name : url,
                 net::fetch_archive(url, o.directory, core::fetch_options(conf)));
  }
  return good ? core::kExitOk : core::kExitFailure;
}

}  // namespace

int init(Args args) {
  CommandLine line("init",
                   "Fetches files into a directory and checks them; runs before a driver or "
                   "executor starts");
  InitOptions o;
  line.option("--directory", &o.directory, "where to put them; made when missing");
  line.option("--checksum", &o.checksums, "sha256:HEX of the first URL; again for the next ones");
  line.option("--archive", &o.archives,
              "a .tar, .tar.gz or .tgz, unpacked to its name or URL#NAME");
  line.option("--receive", &o.receive, "port at which files are waited for: PUT /NAME");
  line.option("--expect", &o.expected,
              "NAME#sha256=HEX of a file that comes there; may be repeated");
  line.option("urls", &o.urls,
              "path, file:, http://, https:// or spark:// URL; behind it #sha256=HEX checks the "
              "file, #NAME renames it, #sha256=HEX&NAME does both");
  declare_process_conf(line, o.conf);
  if (std::optional<int> code = line.parse(args)) return *code;
  return run(o);
}

}  // namespace tinderbox::cmd
