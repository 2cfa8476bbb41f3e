#include "core/executor/app_files.hpp"

#include <functional>
#include <utility>

#include "conf/keys.hpp"
#include "conf/values/resources.hpp"
#include "core/deploy/worker/peer_file.hpp"
#include "net/process/environment.hpp"
#include "net/process/signals.hpp"

namespace tinderbox::core {
namespace {

void check_readable(net::Files& files, const std::string& url, const std::string& path) {
  const std::string file = "File " + url + " that executors are to get ";
  Result<std::optional<net::FileStat>> info = files.stat(path);
  if (!info || !*info) throw conf::Error(file + "does not exist");
  if ((*info)->directory)
    throw conf::Error(file + "is a directory; give an archive of it to --archives");
  if (auto opened = files.open(path); !opened)
    throw conf::Error(file + "cannot be read: " + opened.error().message);
}

/// Executors fetch it themselves. One that can't would be replaced without end, so the driver tries
/// first. Source: Spark SparkContext.addFile, which also fetches for the driver.
void check_fetchable(const std::string& entry, const conf::Conf& conf, BlockManager& blocks) {
  const std::string directory = blocks.local_dirs().front() + "/" + net::unique_name();
  net::FetchOptions options = fetch_options(conf);
  options.cancelled = &net::stop_asked();
  const Result<std::string> fetched = net::fetch(entry, directory, options);
  (void)blocks.files().remove_tree(directory);
  if (!fetched)
    throw conf::Error("File " + entry +
                      " that executors are to get cannot be fetched: " + fetched.error().message);
}

/// What is to come into the executors' directories; none: nothing, as they have the file.
std::optional<HandedOutFile> checked_file(const std::string& entry, bool archive,
                                          const conf::Conf& conf, BlockManager& blocks) {
  const Result<net::FetchSource> source = net::parse_source(entry);
  if (!source) throw conf::Error(source.error().message);
  HandedOutFile file{
      .name = source->name, .url = entry.substr(0, entry.find('#')), .archive = archive};
  const std::string scheme(conf::scheme_of(file.url));
  if (scheme == "local") return archive ? std::optional(std::move(file)) : std::nullopt;
  if (const std::optional<std::string> path = conf::local_path(file.url)) {
    check_readable(blocks.files(), file.url, *path);
    file.url = "file:" + *path;
    file.read_as = path->substr(path->rfind('/') + 1);
    file.path = *path;
  } else if (scheme.starts_with("http")) {
    check_fetchable(entry, conf, blocks);
  }
  return file;
}

/// False: executors were given it before.
bool give_name(const HandedOutFile& file, BlockManager& blocks) {
  const Result<bool> given = blocks.hand_out_file(file);
  if (!given) throw conf::Error(given.error().message);
  return *given;
}

/// An entry as executors are to see it; none: they were given it before.
using Shipped = std::function<std::optional<std::string>(const std::string& entry, bool archive)>;

std::string shipped_list(const std::vector<std::string>& entries, bool archives,
                         const Shipped& shipped) {
  std::string list;
  for (const std::string& entry : entries)
    if (const auto url = shipped(entry, archives)) list += (list.empty() ? "" : ",") + *url;
  return list;
}

void check_archives(const conf::Conf& conf) {
  for (const std::string& entry : conf.get(conf::kArchives))
    if (std::optional<Error> refusal = net::archive_refusal(entry))
      throw conf::Error(refusal->message);
}

std::map<std::string, std::string> shipped_lists(const conf::Conf& conf, const Shipped& shipped) {
  std::map<std::string, std::string> properties;
  const auto files = conf.get(conf::kFiles), archives = conf.get(conf::kArchives);
  if (!files.empty())
    properties[std::string(conf::kFiles.spec.name)] = shipped_list(files, false, shipped);
  check_archives(conf);
  if (!archives.empty())
    properties[std::string(conf::kArchives.spec.name)] = shipped_list(archives, true, shipped);
  return properties;
}

}  // namespace

bool check_app_file(const std::string& entry, bool archive, const conf::Conf& conf,
                    BlockManager& blocks) {
  std::optional<HandedOutFile> file = checked_file(entry, archive, conf, blocks);
  if (file) file->read_as.clear();  // it is read where it is
  return !file || give_name(*file, blocks);
}

std::map<std::string, std::string> check_app_files(const conf::Conf& conf, BlockManager& blocks) {
  return shipped_lists(conf, [&](const std::string& entry, bool archive) {
    const bool fresh = check_app_file(entry, archive, conf, blocks);
    return fresh ? std::optional(entry) : std::nullopt;
  });
}

std::optional<std::string> hand_out_app_file(const std::string& entry, bool archive,
                                             const conf::Conf& conf, BlockManager& blocks,
                                             const std::string& address) {
  const std::optional<HandedOutFile> file = checked_file(entry, archive, conf, blocks);
  if (!file) return entry;
  if (!give_name(*file, blocks)) return std::nullopt;
  if (file->read_as.empty()) return entry;
  const size_t hash = entry.find('#');
  const std::string fragment = hash == std::string::npos ? "" : entry.substr(hash);
  return "spark://" + address + "/files/" + file->read_as + fragment;
}

std::map<std::string, std::string> hand_out_app_files(const conf::Conf& conf, BlockManager& blocks,
                                                      const std::string& address) {
  return shipped_lists(conf, [&](const std::string& entry, bool archive) {
    return hand_out_app_file(entry, archive, conf, blocks, address);
  });
}

AddFiles app_files(const conf::Conf& conf) {
  return {conf.get(conf::kFiles), conf.get(conf::kArchives)};
}

net::FetchOptions fetch_options(const conf::Conf& conf) {
  net::FetchOptions options;
  options.overwrite = conf.get(conf::kFilesOverwrite);
  options.timeout = conf.get(conf::kFilesFetchTimeout);
  options.peer = peer_file(conf);
  return options;
}

Result<bool> fetch_app_files(const AddFiles& what, const conf::Conf& conf,
                             const std::string& directory, const std::atomic<bool>* cancelled) {
  net::FetchOptions options = fetch_options(conf);
  options.cancelled = cancelled;
  for (const std::string& url : what.files)
    if (auto path = net::fetch(url, directory, options); !path) return path.error();
  for (const std::string& url : what.archives)
    if (auto path = net::fetch_archive(url, directory, options); !path) return path.error();
  return true;
}

}  // namespace tinderbox::core
