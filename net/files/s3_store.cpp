#include "net/files/s3_store.hpp"

#include "net/process/exec.hpp"

namespace tinderbox::net {
namespace {

/// Longer than all tries of a request.
constexpr std::chrono::seconds kSignatureLife = std::chrono::hours(1);

std::string signed_url(const S3Access& access, const S3Object& object, std::string_view method,
                       const S3Query& query) {
  return presigned_url(access, object, method, epoch_millis(wall_clock()), kSignatureLife, query);
}

}  // namespace

std::string shown(const S3Object& object) { return "s3a://" + object.bucket + "/" + object.key; }

Result<HttpReply> S3Store::ask(Ask ask, const std::string& what) {
  const Result<S3Access> as = access(ask.object.bucket);
  if (!as) return Error{"cannot " + what + ": " + as.error().message};
  HttpCall call{ask.method, {}, std::move(ask.headers), std::move(ask.body)};
  if (!call.body.empty()) call.headers.emplace("Content-Type", "application/octet-stream");
  Result<HttpReply> reply =
      pool_->call(signed_url(*as, ask.object, ask.method, ask.query), std::move(call));
  if (!reply) return Error{"cannot " + what + ": " + reply.error().message};
  if (reply->status == 200 || reply->status == 204) return reply;
  const S3Failure failure = s3_failure(reply->status, reply->body);
  if (!ask.no_error.empty() && failure.code == ask.no_error) return reply;
  return Error{"cannot " + what + ": " + failure.text};
}

Result<RemoteName> S3Store::name_of(const S3Object& object) {
  const Result<S3Access> as = access(object.bucket);
  if (!as) return Error{"cannot read " + shown(object) + ": " + as.error().message};
  RemoteName name;
  name.shown = shown(object);
  name.url = [as = *as, object] { return signed_url(as, object, "GET", {}); };
  name.failure = [](const HttpReply& reply) { return s3_failure(reply.status, reply.body).text; };
  return name;
}

Result<S3Access> S3Store::access(const std::string& bucket) {
  Lock lock(mutex_);
  if (const auto found = known_.find(bucket); found != known_.end()) return found->second;
  Result<S3Access> as = access_(bucket);
  if (as) known_.emplace(bucket, *as);
  return as;
}

}  // namespace tinderbox::net
