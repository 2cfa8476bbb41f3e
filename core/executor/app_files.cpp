#include "core/executor/app_files.hpp"

#include <algorithm>
#include <utility>

#include "conf/keys.hpp"
#include "conf/values/resources.hpp"
#include "core/deploy/worker/peer_file.hpp"
#include "net/http/fetch.hpp"
#include "net/process/environment.hpp"

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
void check_fetchable(const std::string& entry, BlockManager& blocks) {
  const std::string directory = blocks.local_dirs().front() + "/" + net::unique_name();
  const Result<std::string> fetched = net::fetch(entry, directory);
  (void)blocks.files().remove_tree(directory);
  if (!fetched)
    throw conf::Error("File " + entry +
                      " that executors are to get cannot be fetched: " + fetched.error().message);
}

std::string hand_out_all(const std::vector<std::string>& entries, BlockManager& blocks,
                         const std::string& address) {
  std::string list;
  for (const std::string& entry : entries)
    list += (list.empty() ? "" : ",") + hand_out_app_file(entry, blocks, address);
  return list;
}

/// Where it lies on this machine; none: executors have it, or fetch it from elsewhere.
std::optional<std::string> checked_path(const std::string& entry, BlockManager& blocks) {
  if (Result<net::FetchSource> source = net::parse_source(entry); !source)
    throw conf::Error(source.error().message);
  const std::string url = entry.substr(0, entry.find('#'));
  if (conf::scheme_of(url) == "local") return {};
  std::optional<std::string> path = conf::local_path(url);
  if (path)
    check_readable(blocks.files(), url, *path);
  else if (conf::scheme_of(url).starts_with("http"))
    check_fetchable(entry, blocks);
  return path;
}

void check_archives(const conf::Conf& conf) {
  for (const std::string& entry : conf.get(conf::kArchives))
    if (std::optional<Error> refusal = net::archive_refusal(entry))
      throw conf::Error(refusal->message);
}

/// Moves those of `wanted`, which is sorted, from `launch` to `taken`.
void take_from(LaunchTasks& launch, const std::vector<TaskId>& wanted, std::vector<TaskId>& taken) {
  for (size_t i = launch.tasks.size(); i-- > 0;) {
    const TaskId id = launch.tasks[i].id;
    if (!std::binary_search(wanted.begin(), wanted.end(), id)) continue;
    taken.push_back(id);
    const auto at = static_cast<std::ptrdiff_t>(i);
    launch.tasks.erase(launch.tasks.begin() + at);
    if (i < launch.resources.size()) launch.resources.erase(launch.resources.begin() + at);
  }
}

}  // namespace

void check_app_file(const std::string& entry, BlockManager& blocks) { checked_path(entry, blocks); }

void check_app_files(const conf::Conf& conf, BlockManager& blocks) {
  for (const std::string& entry : conf.get(conf::kFiles)) check_app_file(entry, blocks);
  check_archives(conf);
  for (const std::string& entry : conf.get(conf::kArchives)) check_app_file(entry, blocks);
}

std::string hand_out_app_file(const std::string& entry, BlockManager& blocks,
                              const std::string& address) {
  const std::optional<std::string> path = checked_path(entry, blocks);
  if (!path) return entry;
  size_t hash = entry.find('#');
  std::string fragment = hash == std::string::npos ? "" : entry.substr(hash);
  std::string name = path->substr(path->rfind('/') + 1);
  if (std::optional<Error> other = blocks.hand_out_file(name, *path))
    throw conf::Error(other->message + ": executors would get one file for both; rename one");
  return "spark://" + address + "/files/" + name + fragment;
}

std::map<std::string, std::string> hand_out_app_files(const conf::Conf& conf, BlockManager& blocks,
                                                      const std::string& address) {
  std::map<std::string, std::string> properties;
  auto files = conf.get(conf::kFiles), archives = conf.get(conf::kArchives);
  if (!files.empty())
    properties[std::string(conf::kFiles.spec.name)] = hand_out_all(files, blocks, address);
  check_archives(conf);
  if (!archives.empty())
    properties[std::string(conf::kArchives.spec.name)] = hand_out_all(archives, blocks, address);
  return properties;
}

AddFiles app_files(const conf::Conf& conf) {
  return {conf.get(conf::kFiles), conf.get(conf::kArchives)};
}

Result<bool> fetch_app_files(const AddFiles& what, const conf::Conf& conf,
                             const std::string& directory, const std::atomic<bool>* cancelled) {
  net::FetchOptions options;
  options.peer = peer_file(conf);
  options.cancelled = cancelled;
  for (const std::string& url : what.files)
    if (auto path = net::fetch(url, directory, options); !path) return path.error();
  for (const std::string& url : what.archives)
    if (auto path = net::fetch_archive(url, directory, options); !path) return path.error();
  return true;
}

// ---- beside the loop ------------------------------------------------------------------

FileFetcher::FileFetcher(FetchFiles fetch, OnFetched on_fetched)
    : fetch_(std::move(fetch)), on_fetched_(std::move(on_fetched)) {}

FileFetcher::~FileFetcher() {
  cancel();
  join();
}

void FileFetcher::add(AddFiles files) {
  net::Lock lock(mutex_);
  if (cancelled_) return;
  queue_.push_back(std::move(files));
  changed_.notify_all();
  if (thread_.joinable()) return;
  working_ = true;
  thread_ = std::thread([this] { work(); });
}

void FileFetcher::work() {
  net::Lock lock(mutex_);
  while (true) {
    while (queue_.empty() && !cancelled_) changed_.wait(lock);
    if (cancelled_) break;
    const AddFiles files = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    on_fetched_(fetch_(files, cancelled_));
    lock.lock();
  }
  working_ = false;
  changed_.notify_all();
}

void FileFetcher::cancel() {
  net::Lock lock(mutex_);
  cancelled_ = true;
  changed_.notify_all();
}

void FileFetcher::join() {
  if (thread_.joinable()) thread_.join();
}

bool FileFetcher::stop_within(std::chrono::milliseconds patience) {
  cancel();
  {
    net::Lock lock(mutex_);
    while (working_ && patience.count() > 0) patience = changed_.wait_some(lock, patience);
    if (working_) return false;
  }
  join();
  return true;
}

std::vector<HeldOrders::Order> HeldOrders::files_came() {
  std::vector<Order> ready = std::move(groups_.front());
  groups_.pop_front();
  return ready;
}

std::vector<TaskId> HeldOrders::take_back(std::vector<TaskId> tasks) {
  std::sort(tasks.begin(), tasks.end());
  std::vector<TaskId> taken;
  for (std::vector<Order>& group : groups_)
    for (Order& order : group)
      if (auto* start = std::get_if<StartTasks>(&order)) take_from(start->launch, tasks, taken);
  return taken;
}

}  // namespace tinderbox::core
