#include "core/deploy/master/recovery_log.hpp"

#include "conf/conf.hpp"

namespace tinderbox::core {
namespace {

template <class T>
T need(Result<T> result) {
  if (!result) throw conf::Error("spark.deploy.recoveryDirectory: " + result.error().message);
  return std::move(*result);
}

Bytes read_all(net::Files& files, const std::string& path) {
  if (!need(files.stat(path))) return {};
  auto file = need(files.open(path));
  return Bytes(need(file->view(0, file->size())).view());
}

void write_whole(net::Files& files, const std::string& path, std::string_view bytes) {
  auto file = need(files.create(path));
  need(file->append(bytes));
  need(file->sync());
  need(file->commit());
}

}  // namespace

RecoveryLog::RecoveryLog(net::Files& files, const std::string& directory) {
  if (directory.empty())
    throw conf::Error(
        "spark.deploy.recoveryMode is FILESYSTEM, but spark.deploy.recoveryDirectory is "
        "not set; name a directory that outlives the master");
  need(files.make_directories(directory));
  const std::string path = directory + "/master.log";
  Bytes before = read_all(files, path);
  Replay replayed = replay(before);
  if (!replayed.warning.empty()) {
    warning_ = path + ": " + replayed.warning + "; the whole is kept as " + path + ".damaged";
    write_whole(files, path + ".damaged", before);
  }
  state_ = std::move(replayed.state);
  write_whole(files, path, compacted(state_));
  file_ = need(files.append(path));
}

Result<bool> RecoveryLog::append(std::string_view record) {
  if (Result<bool> added = file_->append(record); !added) return added;
  return file_->sync();
}

}  // namespace tinderbox::core
