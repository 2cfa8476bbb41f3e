#include "core/executor/app_files.hpp"

#include "conf/keys.hpp"
#include "conf/values/resources.hpp"
#include "core/deploy/worker/peer_file.hpp"
#include "net/http/fetch.hpp"

namespace tinderbox::core {

std::string hand_out_app_file(const std::string& entry, BlockManager& blocks,
                              const std::string& address) {
  size_t hash = entry.find('#');
  std::string fragment = hash == std::string::npos ? "" : entry.substr(hash);
  std::string url = entry.substr(0, hash);
  if (conf::scheme_of(url) == "local") return entry;
  std::optional<std::string> path = conf::local_path(url);
  if (!path) return entry;
  Result<std::optional<net::FileStat>> info = blocks.files().stat(*path);
  if (!info || !*info)
    throw conf::Error("File " + url + " that executors are to get does not exist");
  std::string name = path->substr(path->rfind('/') + 1);
  if (std::optional<Error> other = blocks.hand_out_file(name, *path))
    throw conf::Error(other->message + ": executors would get one file for both; rename one");
  return "spark://" + address + "/files/" + name + fragment;
}

namespace {

std::string hand_out_all(const std::vector<std::string>& entries, BlockManager& blocks,
                         const std::string& address) {
  std::string list;
  for (const std::string& entry : entries)
    list += (list.empty() ? "" : ",") + hand_out_app_file(entry, blocks, address);
  return list;
}

}  // namespace

std::map<std::string, std::string> hand_out_app_files(const conf::Conf& conf, BlockManager& blocks,
                                                      const std::string& address) {
  std::map<std::string, std::string> properties;
  auto files = conf.get(conf::kFiles), archives = conf.get(conf::kArchives);
  if (!files.empty())
    properties[std::string(conf::kFiles.spec.name)] = hand_out_all(files, blocks, address);
  if (!archives.empty())
    properties[std::string(conf::kArchives.spec.name)] = hand_out_all(archives, blocks, address);
  return properties;
}

AddFiles app_files(const conf::Conf& conf) {
  return {conf.get(conf::kFiles), conf.get(conf::kArchives)};
}

Result<bool> fetch_app_files(const AddFiles& what, const conf::Conf& conf,
                             const std::string& directory) {
  net::FetchOptions options;
  options.peer = peer_file(conf);
  for (const std::string& url : what.files)
    if (auto path = net::fetch(url, directory, options); !path) return path.error();
  for (const std::string& url : what.archives)
    if (auto path = net::fetch_archive(url, directory, options); !path) return path.error();
  return true;
}

}  // namespace tinderbox::core
