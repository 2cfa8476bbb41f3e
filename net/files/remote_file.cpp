#include "net/files/remote_file.hpp"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <thread>

namespace tinderbox::net {
namespace {

constexpr size_t kChunk = 256 << 10;
constexpr size_t kAheadChunks = 32;
/// A range so short is worth no thread.
constexpr int64_t kShort = 1 << 20;
constexpr Duration kLook = std::chrono::milliseconds(100);

/// Negative: it is none.
int64_t number_of(std::string_view text) {
  int64_t number = -1;
  return absl::SimpleAtoi(std::string(text), &number) ? number : -1;
}

/// `bytes FIRST-LAST/ALL` of a Content-Range; negative: not told.
struct ContentRange {
  int64_t first = -1, all = -1;
};
ContentRange content_range(const HttpReply& reply) {
  ContentRange range;
  const auto found = reply.headers.find("content-range");
  if (found == reply.headers.end()) return range;
  std::string_view text = found->second;
  if (!text.starts_with("bytes ")) return range;
  text.remove_prefix(6);
  const size_t slash = text.find('/');
  if (slash == text.npos) return range;
  range.all = number_of(text.substr(slash + 1));
  range.first = number_of(text.substr(0, text.find('-')));
  return range;
}

std::string header(const HttpReply& reply, const std::string& name) {
  const auto found = reply.headers.find(name);
  return found == reply.headers.end() ? "" : found->second;
}

std::string version_of(const HttpReply& reply) {
  const std::string tag = header(reply, "etag");
  return tag.empty() ? header(reply, "last-modified") : tag;
}

/// Asks the server itself to refuse another version, as far as it understands that.
void want_version(HttpCall& call, const std::string& version) {
  if (version.starts_with('"')) call.headers["If-Match"] = version;
}

class RemoteFile;

/// Bytes [from, to) on their way: a thread receives, one reader takes.
class Ahead {
 public:
  Ahead(RemoteFile& file, int64_t from, int64_t to);
  ~Ahead();
  int64_t at() const { return at_; }
  /// `n` bytes, or fewer only at `to` or the end of the file.
  Result<size_t> read(char* to, size_t n);

 private:
  void receive(int64_t from, int64_t to);
  bool put(Bytes chunk);
  /// False: all was read.
  Result<bool> next_chunk();

  RemoteFile& file_;
  int64_t at_;
  Bytes chunk_;
  size_t taken_ = 0;  // of chunk_
  HttpInterrupt interrupt_;
  Mutex mutex_;
  Condition changed_;
  std::deque<Bytes> chunks_ GUARDED_BY(mutex_);
  bool ended_ GUARDED_BY(mutex_) = false;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::optional<Error> error_ GUARDED_BY(mutex_);
  std::thread thread_;
};

class RemoteFile final : public ReadFile {
 public:
  RemoteFile(std::shared_ptr<HttpPool> pool, RemoteName name, RemoteObject object)
      : pool_(std::move(pool)), name_(std::move(name)), object_(std::move(object)) {}

  int64_t size() const override { return object_.size; }

  void expect(int64_t from, int64_t to) override {
    Lock lock(mutex_);
    if (object_.size >= 0) to = std::min(to, object_.size);
    ahead_.reset();
    expected_from_ = from;
    expected_to_ = to;
  }

  Result<size_t> read_at(int64_t offset, char* to, size_t n) override {
    if (object_.size >= 0)
      n = static_cast<size_t>(
          std::clamp<int64_t>(object_.size - offset, 0, static_cast<int64_t>(n)));
    Lock lock(mutex_);
    size_t done = 0;
    if (Ahead* ahead = ahead_of(offset)) {
      const Result<size_t> got = ahead->read(to, n);
      if (!got) return got;
      done = *got;
      if (object_.size < 0) return done;
    }
    if (done == n) return done;
    const Result<size_t> rest = read_now(offset + static_cast<int64_t>(done), to + done, n - done);
    return rest ? Result<size_t>(done + *rest) : rest;
  }

  Result<Payload> view(int64_t offset, int64_t length) override {
    if (offset < 0 || length < 0 || (object_.size >= 0 && length > object_.size - offset))
      return Error{absl::StrCat("cannot read ", length, " bytes at ", offset, " of ", name_.shown,
                                ": it has only ", object_.size, " bytes")};
    if (length == 0) return Payload();
    const auto n = static_cast<size_t>(length);
    std::shared_ptr<char[]> buffer = std::make_shared_for_overwrite<char[]>(n);
    const Result<size_t> got = read_at(offset, buffer.get(), n);
    if (!got) return got.error();
    if (*got != n) return failed("it is shorter than it was");
    return Payload(buffer, std::string_view(buffer.get(), n));
  }

  const HttpPatience& patience() const { return pool_->patience(); }
  Error failed(const std::string& why) const {
    return Error{"cannot read " + name_.shown + ": " + why};
  }

  /// Hands [from, to), or what there is of it, to `sink`; false of that: stop.
  Result<bool> receive(int64_t from, int64_t to, const HttpSession::Sink& sink,
                       HttpInterrupt& interrupt) const {
    HttpRetries retries(pool_->patience());
    for (int64_t at = from; at < to;) {
      Try next{*this, sink, at, to};
      HttpSession::Fault fault{};
      const Result<HttpReply> reply = pool_->stream(
          name_.url(), call(at, to), [&](std::string_view part) { return next.part(part); },
          [&](const HttpReply& head) { return next.head(head); }, interrupt, fault);
      if (!next.wrong.empty()) return failed(next.wrong);
      if (next.refused) return false;
      const bool progress = next.at > at;
      at = next.at;
      if (reply && (reply->status == 206 || reply->status == 200)) {
        if (object_.size < 0) return true;
        if (progress || at >= to) continue;
        return failed("the server sent nothing of it");
      }
      if (reply && (reply->status == 412 || reply->status == 416)) return failed(kChanged);
      if (progress) retries.progressed();
      if (!retries.again(reply, fault))
        return reply ? failed(name_.failure(*reply)) : failed(reply.error().message);
    }
    return true;
  }

 private:
  static constexpr const char* kChanged = "it was changed while it was read";

  /// What one answer brings.
  struct Try {
    const RemoteFile& file;
    const HttpSession::Sink& sink;
    int64_t at, to;
    int64_t skip = 0;
    bool refused = false, ranged = false;
    std::string wrong = {};

    bool head(const HttpReply& reply) {
      ranged = reply.status == 206;
      if (file.object_.version != version_of(reply))
        wrong = kChanged;
      else if (ranged && content_range(reply).first != at)
        wrong = "the server sent other bytes than it was asked for";
      // Without ranges all comes again, also what is there already.
      skip = ranged ? 0 : at;
      return wrong.empty();
    }
    bool part(std::string_view bytes) {
      const auto over =
          static_cast<size_t>(std::min<int64_t>(skip, static_cast<int64_t>(bytes.size())));
      skip -= static_cast<int64_t>(over);
      bytes.remove_prefix(over);
      bytes = bytes.substr(
          0, static_cast<size_t>(std::min<int64_t>(to - at, static_cast<int64_t>(bytes.size()))));
      if (!bytes.empty() && !sink(bytes)) {
        refused = true;
        return false;
      }
      at += static_cast<int64_t>(bytes.size());
      return ranged || at < to;
    }
  };

  HttpCall call(int64_t at, int64_t to) const {
    HttpCall call{"GET", {}, {}, {}};
    if (object_.size >= 0) call.headers["Range"] = absl::StrCat("bytes=", at, "-", to - 1);
    want_version(call, object_.version);
    return call;
  }

  /// Null: the bytes at `offset` are not those that come.
  Ahead* ahead_of(int64_t offset) REQUIRES(mutex_) {
    if (ahead_ && ahead_->at() == offset) return ahead_.get();
    if (ahead_ || offset != expected_from_ || expected_to_ <= expected_from_) return nullptr;
    ahead_ = std::make_unique<Ahead>(*this, expected_from_, expected_to_);
    return ahead_.get();
  }

  Result<size_t> read_now(int64_t offset, char* to, size_t n) const {
    size_t done = 0;
    HttpInterrupt never;
    const Result<bool> all = receive(
        offset, offset + static_cast<int64_t>(n),
        [&](std::string_view part) {
          std::memcpy(to + done, part.data(), part.size());
          done += part.size();
          return true;
        },
        never);
    return all ? Result<size_t>(done) : all.error();
  }

  const std::shared_ptr<HttpPool> pool_;
  const RemoteName name_;
  const RemoteObject object_;
  Mutex mutex_;
  int64_t expected_from_ GUARDED_BY(mutex_) = -1;
  int64_t expected_to_ GUARDED_BY(mutex_) = -1;
  std::unique_ptr<Ahead> ahead_ GUARDED_BY(mutex_);
};

Ahead::Ahead(RemoteFile& file, int64_t from, int64_t to) : file_(file), at_(from) {
  if (to - from <= kShort)
    receive(from, to);
  else
    thread_ = std::thread([this, from, to] { receive(from, to); });
}

Ahead::~Ahead() {
  {
    Lock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  interrupt_.interrupt();
  if (thread_.joinable()) thread_.join();
}

void Ahead::receive(int64_t from, int64_t to) {
  Bytes chunk;
  const Result<bool> all = file_.receive(
      from, to,
      [&](std::string_view part) {
        if (chunk.empty()) chunk.reserve(kChunk + part.size());
        chunk += part;
        return chunk.size() < kChunk || put(std::exchange(chunk, {}));
      },
      interrupt_);
  if (!chunk.empty()) put(std::move(chunk));
  Lock lock(mutex_);
  ended_ = true;
  if (!all) error_ = all.error();
  changed_.notify_all();
}

bool Ahead::put(Bytes chunk) {
  Lock lock(mutex_);
  while (!stopped_ && chunks_.size() >= kAheadChunks) changed_.wait(lock);
  if (stopped_) return false;
  chunks_.push_back(std::move(chunk));
  changed_.notify_all();
  return true;
}

Result<bool> Ahead::next_chunk() {
  Lock lock(mutex_);
  while (chunks_.empty() && !ended_) {
    changed_.wait_for(lock, kLook);
    if (file_.patience().cancelled()) return file_.failed("it is not wanted any more");
  }
  if (chunks_.empty()) {
    if (error_) return *error_;
    return false;
  }
  chunk_ = std::move(chunks_.front());
  taken_ = 0;
  chunks_.pop_front();
  changed_.notify_all();
  return true;
}

Result<size_t> Ahead::read(char* to, size_t n) {
  size_t done = 0;
  while (done < n) {
    if (taken_ == chunk_.size()) {
      const Result<bool> more = next_chunk();
      if (!more) return more.error();
      if (!*more) break;
    }
    const size_t some = std::min(n - done, chunk_.size() - taken_);
    std::memcpy(to + done, chunk_.data() + taken_, some);
    taken_ += some;
    done += some;
  }
  at_ += static_cast<int64_t>(done);
  return done;
}

}  // namespace

Result<std::optional<RemoteObject>> look_at(HttpPool& pool, const RemoteName& name,
                                            std::string* moved) {
  const auto failed = [&](const std::string& why) {
    return Error{"cannot read " + name.shown + ": " + why};
  };
  RemoteObject object;
  HttpRetries retries(pool.patience());
  HttpInterrupt never;
  while (true) {
    HttpSession::Fault fault{};
    const Result<HttpReply> reply = pool.stream(
        name.url(), {"GET", {}, {{"Range", "bytes=0-0"}}, {}},
        [](std::string_view) { return true; },
        [](const HttpReply& head) { return head.status == 206; }, never, fault);
    if (retries.again(reply, fault)) continue;
    if (!reply) return failed(reply.error().message);
    object.version = version_of(*reply);
    if (reply->status == 206) object.size = content_range(*reply).all;
    if (reply->status == 200 && header(*reply, "content-length") == "0") object.size = 0;
    if (reply->status == 200 || reply->status == 206) return std::optional(object);
    // There is no first byte.
    if (reply->status == 416) return std::optional(RemoteObject{0, object.version});
    if (reply->status == 404) return std::optional<RemoteObject>();
    if (moved && reply->headers.contains("location")) *moved = header(*reply, "location");
    return failed(name.failure(*reply));
  }
}

std::unique_ptr<ReadFile> open_remote(std::shared_ptr<HttpPool> pool, RemoteName name,
                                      RemoteObject object) {
  return std::make_unique<RemoteFile>(std::move(pool), std::move(name), std::move(object));
}

}  // namespace tinderbox::net
