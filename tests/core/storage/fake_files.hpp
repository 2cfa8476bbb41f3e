// Files in memory that can be lost, torn or full.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "net/files/files.hpp"

namespace tinderbox::test {

/// Shape: every parent directory of a file must have been made. Thread: any.
class FakeFiles : public net::Files {
 public:
  using Content = std::shared_ptr<std::string>;

  // What a test does to them.
  int64_t capacity = int64_t{1} << 40;  // bytes over all files
  std::set<std::string> read_only;      // nothing can be made below these
  std::string tear;    // a file whose path contains it loses its last byte at commit
  std::string damage;  // a file whose path contains it has a wrong bit after its commit
  std::string refuse;  // a file whose path contains it can't be committed
  std::function<void(const std::string&)> before_commit;  // of a path

  std::map<std::string, Content> files;
  std::set<std::string> directories;

  /// The only path that contains `part`; empty when there is none or several.
  std::string path_of(const std::string& part) {
    std::lock_guard lock(mutex_);
    std::string found;
    for (const auto& [path, content] : files) {
      if (path.find(part) == std::string::npos) continue;
      if (!found.empty()) return "";
      found = path;
    }
    return found;
  }
  /// So far, of the files whose paths contain `part`.
  int64_t bytes_read(const std::string& part) {
    std::lock_guard lock(mutex_);
    int64_t sum = 0;
    for (const auto& [path, bytes] : read_)
      if (path.find(part) != std::string::npos) sum += bytes->load();
    return sum;
  }
  /// Bytes that are in sight, of views that are still there, and the most that were at once.
  int64_t viewed() const { return views_->now; }
  int64_t most_viewed() const { return views_->most; }
  void flip(const std::string& part, size_t at) {
    Content& content = files.at(path_of(part));
    content = std::make_shared<std::string>(*content);
    (*content)[at] ^= 1;
  }

  Result<std::unique_ptr<net::ReadFile>> open(const std::string& path) override {
    std::lock_guard lock(mutex_);
    ++opened;
    const auto it = files.find(path);
    if (it == files.end()) return Error{"cannot open " + path + ": No such file or directory"};
    Counter& read = read_[path];
    if (!read) read = std::make_shared<std::atomic<int64_t>>(0);
    std::unique_ptr<net::ReadFile> file = std::make_unique<Reading>(it->second, read, views_);
    return file;
  }
  Result<std::unique_ptr<net::WriteFile>> create(const std::string& path) override {
    return writing(path, false);
  }
  Result<std::unique_ptr<net::WriteFile>> append(const std::string& path) override {
    return writing(path, true);
  }
  Result<bool> remove(const std::string& path) override {
    std::lock_guard lock(mutex_);
    return files.erase(path) > 0;
  }
  Result<bool> remove_tree(const std::string& path) override {
    std::lock_guard lock(mutex_);
    std::erase_if(files, [&](const auto& f) { return f.first.starts_with(path + "/"); });
    return std::erase_if(directories,
                         [&](const auto& d) { return d == path || d.starts_with(path + "/"); }) > 0;
  }
  Result<bool> rename(const std::string& from, const std::string& to) override {
    std::lock_guard lock(mutex_);
    const auto it = files.find(from);
    if (it == files.end()) return Error{"cannot rename " + from};
    files[to] = it->second;
    files.erase(from);
    return true;
  }
  Result<std::vector<net::FileEntry>> list(const std::string& directory) override {
    std::lock_guard lock(mutex_);
    std::vector<net::FileEntry> entries;
    for (const auto& [path, content] : files)
      if (path.starts_with(directory + "/") && path.find('/', directory.size() + 1) == path.npos)
        entries.push_back({path.substr(directory.size() + 1), {false, size_of(content), 0}});
    return entries;
  }
  Result<bool> make_directories(const std::string& path) override {
    std::lock_guard lock(mutex_);
    for (const std::string& dir : read_only)
      if (path.starts_with(dir))
        return Error{"cannot create directory " + path + ": Read-only file system"};
    return directories.insert(path).second;
  }
  Result<int64_t> free_space(const std::string&) override {
    std::lock_guard lock(mutex_);
    return capacity - used();
  }
  Result<std::optional<net::FileStat>> stat(const std::string& path) override {
    std::lock_guard lock(mutex_);
    const auto it = files.find(path);
    if (directories.contains(path)) return std::optional(net::FileStat{true});
    if (it == files.end()) return std::optional<net::FileStat>();
    return std::optional(net::FileStat{false, size_of(it->second), 0});
  }

  int opened = 0;

 private:
  using Counter = std::shared_ptr<std::atomic<int64_t>>;

  struct Views {
    std::atomic<int64_t> now{0}, most{0};
  };
  using ViewsPtr = std::shared_ptr<Views>;
  /// What keeps a view's bytes.
  struct View {
    View(Content of, ViewsPtr among, int64_t size)
        : content(std::move(of)), views(std::move(among)), length(size) {
      const int64_t now = views->now += length;
      for (int64_t most = views->most; now > most && !views->most.compare_exchange_weak(most, now);)
        continue;
    }
    ~View() { views->now -= length; }
    View(const View&) = delete;
    View& operator=(const View&) = delete;
    const Content content;
    const ViewsPtr views;
    const int64_t length;
  };

  static int64_t size_of(const Content& c) { return static_cast<int64_t>(c->size()); }
  int64_t used() const {
    int64_t sum = 0;
    for (const auto& [path, content] : files) sum += size_of(content);
    return sum;
  }

  class Reading : public net::ReadFile {
   public:
    Reading(Content content, Counter read, ViewsPtr views)
        : content_(std::move(content)), read_(std::move(read)), views_(std::move(views)) {}
    Result<size_t> read_at(int64_t offset, char* to, size_t n) override {
      if (static_cast<size_t>(offset) >= content_->size()) return size_t{0};
      const size_t got = content_->copy(to, n, static_cast<size_t>(offset));
      *read_ += static_cast<int64_t>(got);
      return got;
    }
    int64_t size() const override { return size_of(content_); }
    Result<Payload> view(int64_t offset, int64_t length) override {
      if (offset + length > size()) return Error{"it is too short"};
      *read_ += length;
      return Payload(std::make_shared<View>(content_, views_, length),
                     std::string_view(*content_).substr(static_cast<size_t>(offset),
                                                        static_cast<size_t>(length)));
    }

   private:
    Content content_;
    Counter read_;
    ViewsPtr views_;
  };

  class Writing : public net::WriteFile {
   public:
    Writing(FakeFiles& all, std::string path, bool at_once)
        : all_(all), path_(std::move(path)), at_once_(at_once) {}
    Result<bool> append(std::string_view bytes) override {
      std::lock_guard lock(all_.mutex_);
      if (all_.used() + static_cast<int64_t>(text_.size() + bytes.size()) > all_.capacity)
        return Error{"cannot write " + path_ + ": No space left on device"};
      if (!at_once_) {
        text_ += bytes;
        return true;
      }
      Content& content = all_.files[path_];
      content = std::make_shared<std::string>(content ? *content : "");
      *content += bytes;
      return true;
    }
    Result<bool> sync() override { return true; }
    Result<bool> commit() override {
      if (all_.before_commit) all_.before_commit(path_);
      std::lock_guard lock(all_.mutex_);
      if (at_once_) return true;
      if (!all_.refuse.empty() && path_.find(all_.refuse) != path_.npos)
        return Error{"cannot write " + path_ + ": Input/output error"};
      if (!all_.tear.empty() && path_.find(all_.tear) != path_.npos && !text_.empty())
        text_.pop_back();
      if (!all_.damage.empty() && path_.find(all_.damage) != path_.npos && !text_.empty())
        text_[text_.size() / 2] ^= 1;
      all_.files[path_] = std::make_shared<std::string>(std::move(text_));
      return true;
    }
    int64_t size() const override { return static_cast<int64_t>(text_.size()); }

   private:
    FakeFiles& all_;
    std::string path_;
    bool at_once_;
    std::string text_;
  };

  Result<std::unique_ptr<net::WriteFile>> writing(const std::string& path, bool at_once) {
    std::lock_guard lock(mutex_);
    if (!directories.contains(path.substr(0, path.rfind('/'))))
      return Error{"cannot create " + path + ": No such file or directory"};
    std::unique_ptr<net::WriteFile> file = std::make_unique<Writing>(*this, path, at_once);
    return file;
  }

  std::mutex mutex_;
  std::map<std::string, Counter> read_;
  const ViewsPtr views_ = std::make_shared<Views>();
};

}  // namespace tinderbox::test
