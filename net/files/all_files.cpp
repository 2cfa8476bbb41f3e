#include "net/files/all_files.hpp"

#include "net/files/s3_files.hpp"
#include "net/files/web_files.hpp"

namespace tinderbox::net {
namespace {

class AllFiles final : public Files {
 public:
  AllFiles(std::unique_ptr<Files> disk, S3AccessOf access, HttpPatience patience)
      : pool_(std::make_shared<HttpPool>(std::move(patience))),
        disk_(std::move(disk)),
        stores_(make_s3_files(pool_, std::move(access))),
        web_(make_web_files(pool_)) {}

  Result<std::unique_ptr<ReadFile>> open(const std::string& path) override {
    return of(path).open(path);
  }
  Result<std::unique_ptr<WriteFile>> create(const std::string& path) override {
    return of(path).create(path);
  }
  Result<std::unique_ptr<WriteFile>> append(const std::string& path) override {
    return of(path).append(path);
  }
  Result<bool> remove(const std::string& path) override { return of(path).remove(path); }
  Result<bool> remove_tree(const std::string& path) override { return of(path).remove_tree(path); }
  Result<bool> rename(const std::string& from, const std::string& to) override {
    return of(from).rename(from, to);
  }
  Result<std::vector<FileEntry>> list(const std::string& directory) override {
    return of(directory).list(directory);
  }
  Result<bool> make_directories(const std::string& path) override {
    return of(path).make_directories(path);
  }
  Result<int64_t> free_space(const std::string& path) override { return of(path).free_space(path); }
  Result<std::optional<FileStat>> stat(const std::string& path) override {
    return of(path).stat(path);
  }
  Result<int64_t> discard_uncommitted(const std::string& directory) override {
    return of(directory).discard_uncommitted(directory);
  }

 private:
  Files& of(const std::string& path) {
    const Place place = place_of(path);
    return place == Place::Disk ? *disk_ : place == Place::Store ? *stores_ : *web_;
  }

  const std::shared_ptr<HttpPool> pool_;
  const std::unique_ptr<Files> disk_, stores_, web_;
};

}  // namespace

std::unique_ptr<Files> make_all_files(std::unique_ptr<Files> disk, S3AccessOf access,
                                      HttpPatience patience) {
  return std::make_unique<AllFiles>(std::move(disk), std::move(access), std::move(patience));
}

}  // namespace tinderbox::net
