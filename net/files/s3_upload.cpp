#include "net/files/s3_upload.hpp"

#include <utility>
#include <vector>

#include "net/files/s3_answers.hpp"

namespace tinderbox::net {
namespace {

/// A store takes 10,000 parts of an object, each but the last of the same size.
constexpr size_t kPart = 16 << 20;
constexpr const char* kNoUpload = "NoSuchUpload";

class Upload final : public WriteFile {
 public:
  Upload(S3Store& store, S3Object object)
      : store_(store), object_(std::move(object)), what_("write " + shown(object_)) {}
  ~Upload() override {
    if (!id_.empty()) (void)abort_upload(store_, object_, id_);
  }

  Result<bool> append(std::string_view bytes) override {
    size_ += static_cast<int64_t>(bytes.size());
    while (buffer_.size() + bytes.size() > kPart) {
      const size_t some = kPart - buffer_.size();
      buffer_ += bytes.substr(0, some);
      bytes.remove_prefix(some);
      if (Result<bool> sent = send_part(); !sent) return sent;
    }
    buffer_ += bytes;
    return true;
  }
  /// Nobody sees any of it before commit().
  Result<bool> sync() override { return true; }
  int64_t size() const override { return size_; }

  Result<bool> commit() override {
    if (id_.empty()) {
      const Result<HttpReply> put = store_.ask({"PUT", object_, {}, std::move(buffer_)}, what_);
      return put ? Result<bool>(true) : put.error();
    }
    if (Result<bool> sent = send_part(); !sent) return sent;
    return complete();
  }

 private:
  Result<bool> begin() {
    const Result<HttpReply> begun = store_.ask({"POST", object_, {{"uploads", ""}}}, what_);
    if (!begun) return begun.error();
    id_ = parse_s3_upload_id(begun->body);
    if (id_.empty()) return Error{"cannot " + what_ + ": the store gave the upload no id"};
    return true;
  }

  Result<bool> send_part() {
    if (id_.empty())
      if (Result<bool> begun = begin(); !begun) return begun;
    const S3Query query{{"partNumber", std::to_string(tags_.size() + 1)}, {"uploadId", id_}};
    const Result<HttpReply> sent = store_.ask({"PUT", object_, query, std::move(buffer_)}, what_);
    buffer_.clear();
    if (!sent) return sent.error();
    const auto tag = sent->headers.find("etag");
    if (tag == sent->headers.end()) return Error{"cannot " + what_ + ": a part has no ETag"};
    tags_.push_back(tag->second);
    return true;
  }

  Result<bool> complete() {
    const Result<HttpReply> done = store_.ask(
        {"POST", object_, {{"uploadId", id_}}, s3_parts_xml(tags_), {}, kNoUpload}, what_);
    if (!done) return done.error();
    // A try before may have done it, and only its answer was lost.
    const bool gone = done->status == 404;
    if (gone && !is_there()) return Error{"cannot " + what_ + ": the upload was aborted"};
    const std::string late = gone ? "" : parse_s3_late_failure(done->body);
    if (!late.empty()) return Error{"cannot " + what_ + ": " + late};
    id_.clear();
    return true;
  }

  bool is_there() {
    const Result<RemoteName> name = store_.name_of(object_);
    if (!name) return false;
    const auto found = look_at(*store_.pool(), *name);
    return found && *found && (*found)->size == size_;
  }

  S3Store& store_;
  const S3Object object_;
  const std::string what_;
  std::string id_;  // empty: nothing was sent yet, or all is done
  std::vector<std::string> tags_;
  Bytes buffer_;
  int64_t size_ = 0;
};

}  // namespace

std::unique_ptr<WriteFile> begin_upload(S3Store& store, S3Object object) {
  return std::make_unique<Upload>(store, std::move(object));
}

Result<bool> abort_upload(S3Store& store, const S3Object& object, const std::string& id) {
  const Result<HttpReply> gone =
      store.ask({"DELETE", object, {{"uploadId", id}}, {}, {}, kNoUpload},
                "abort an upload to " + shown(object));
  return gone ? Result<bool>(gone->status != 404) : gone.error();
}

}  // namespace tinderbox::net
