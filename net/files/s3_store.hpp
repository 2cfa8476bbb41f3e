// Requests to object stores: signed, tried again, failures in the store's words.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "net/files/remote_file.hpp"
#include "net/files/s3.hpp"
#include "net/http/http_pool.hpp"
#include "net/mutex.hpp"

namespace tinderbox::net {

/// Where a bucket is and as whom to ask for it. Errors: no credentials, one line.
using S3AccessOf = std::function<Result<S3Access>(const std::string& bucket)>;

/// Thread: any.
class S3Store {
 public:
  S3Store(std::shared_ptr<HttpPool> pool, S3AccessOf access)
      : pool_(std::move(pool)), access_(std::move(access)) {}
  const std::shared_ptr<HttpPool>& pool() const { return pool_; }

  struct Ask {
    std::string method;
    S3Object object;  // without key: the bucket
    S3Query query = {};
    Bytes body = {};
    std::map<std::string, std::string> headers = {};
    std::string no_error = {};  // a code of the store's that is an answer too, as NoSuchUpload
  };
  /// Errors: `cannot WHAT: …`; any other status than 200 and 204 is one.
  Result<HttpReply> ask(Ask ask, const std::string& what);

  /// How to read an object.
  Result<RemoteName> name_of(const S3Object& object);

 private:
  Result<S3Access> access(const std::string& bucket);
  std::shared_ptr<HttpPool> pool_;
  const S3AccessOf access_;
  Mutex mutex_;
  std::map<std::string, S3Access> known_ GUARDED_BY(mutex_);
};

/// s3a://bucket/key.
std::string shown(const S3Object& object);

}  // namespace tinderbox::net
