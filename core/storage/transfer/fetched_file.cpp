#include "core/storage/transfer/fetched_file.hpp"

#include <atomic>

namespace tinderbox::core {
namespace {

std::atomic<uint64_t> last_number{0};

Error own_disk_failed(const Error& why) {
  return {"the reader's own disk failed (make room in spark.local.dir, or set it elsewhere): " +
              why.message,
          true};
}

}  // namespace

Result<bool> FetchedFile::open(BlockManager& blocks) {
  const uint64_t number = ++last_number;
  const std::vector<std::string>& directories = blocks.local_dirs();
  const std::string folder = directories[number % directories.size()] + "/temp";
  if (Result<bool> made = blocks.files().make_directories(folder); !made) return made;
  path_ = folder + "/fetched_" + std::to_string(number);
  Result<std::unique_ptr<net::WriteFile>> file = blocks.files().create(path_);
  if (!file) return file.error();
  writing_ = std::move(*file);
  return true;
}

Result<bool> FetchedFile::append(BlockManager& blocks, std::string_view bytes) {
  if (error_) return *error_;
  Result<bool> done = writing_ ? Result<bool>(true) : open(blocks);
  if (done) done = writing_->append(bytes);
  if (done) {
    sum_.add(bytes);
    return done;
  }
  error_ = own_disk_failed(done.error());
  writing_.reset();
  return *error_;
}

Result<Payload> FetchedFile::read(BlockManager& blocks) {
  if (error_) return *error_;
  Result<Payload> bytes = read_back(blocks);
  if (!bytes) return own_disk_failed(bytes.error());
  return bytes;
}

Result<Payload> FetchedFile::read_back(BlockManager& blocks) {
  const int64_t size = writing_->size();
  if (Result<bool> there = writing_->commit(); !there) return there.error();
  writing_.reset();
  Result<std::unique_ptr<net::ReadFile>> file = blocks.files().open(path_);
  Result<Payload> bytes = file ? (*file)->view(0, size) : file.error();
  (void)blocks.files().remove(path_);  // what is mapped stays
  if (bytes && checksum(*bytes) != sum_.value())
    return Error{path_ + " is corrupted due to DISK_ISSUE"};
  return bytes;
}

}  // namespace tinderbox::core
