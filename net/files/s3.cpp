#include "net/files/s3.hpp"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>
#include <absl/time/time.h>
#include <openssl/hmac.h>

#include <pugixml.hpp>

#include "net/files/sha256.hpp"
#include "net/http/http_session.hpp"
#include "net/http/url.hpp"

namespace tinderbox::net {
namespace {

constexpr const char* kAlgorithm = "AWS4-HMAC-SHA256";

std::string hmac(std::string_view key, std::string_view text) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned n = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), out, &n);
  return {reinterpret_cast<char*>(out), n};
}

std::string sha256_hex(std::string_view text) {
  Sha256 sum;
  sum.add(text);
  return sum.hex();
}

/// A key as a path: its slashes stay.
std::string encoded_path(std::string_view key) {
  std::string path;
  for (size_t at = 0; at <= key.size();) {
    const size_t end = std::min(key.find('/', at), key.size());
    absl::StrAppend(&path, "/", url_encoded(key.substr(at, end - at)));
    at = end + 1;
  }
  return path;
}

/// Scheme, host and path by which the store knows an object.
struct Address {
  std::string scheme = "https", host, path;
};

Address address_of(const S3Access& access, const S3Object& object) {
  Address place;
  place.host =
      access.region == "us-east-1" ? "s3.amazonaws.com" : "s3." + access.region + ".amazonaws.com";
  if (const std::optional<Url> url = parse_url(access.endpoint)) {
    place.scheme = url->scheme;
    const bool usual = url->port == (url->scheme == "https" ? 443 : 80);
    place.host = url->host.find(':') == std::string::npos ? url->host : "[" + url->host + "]";
    if (!usual) absl::StrAppend(&place.host, ":", url->port);
  }
  if (access.path_style)
    place.path = "/" + url_encoded(object.bucket);
  else
    place.host = object.bucket + "." + place.host;
  place.path += encoded_path(object.key);
  return place;
}

/// Signs one request; the names of the parts are those of Amazon's description.
class Signature {
 public:
  Signature(const S3Access& access, int64_t now_ms)
      : access_(access),
        time_(
            absl::FormatTime("%Y%m%dT%H%M%SZ", absl::FromUnixMillis(now_ms), absl::UTCTimeZone())),
        scope_(absl::StrCat(time_.substr(0, 8), "/", access.region, "/s3/aws4_request")) {}

  /// With the parts of the signature, encoded; in the order in which it is signed.
  std::string query(S3Query all, std::chrono::seconds life) const {
    all.insert({{"X-Amz-Algorithm", kAlgorithm},
                {"X-Amz-Credential", access_.access_key + "/" + scope_},
                {"X-Amz-Date", time_},
                {"X-Amz-Expires", std::to_string(life.count())},
                {"X-Amz-SignedHeaders", "host"}});
    if (!access_.session_token.empty()) all.emplace("X-Amz-Security-Token", access_.session_token);
    std::string query;
    for (const auto& [name, value] : all)
      absl::StrAppend(&query, query.empty() ? "" : "&", url_encoded(name), "=", url_encoded(value));
    return query;
  }

  std::string of(std::string_view method, const Address& place, const std::string& query) const {
    const std::string request = absl::StrCat(std::string(method), "\n", place.path, "\n", query,
                                             "\nhost:", place.host, "\n\nhost\nUNSIGNED-PAYLOAD");
    const std::string text =
        absl::StrCat(kAlgorithm, "\n", time_, "\n", scope_, "\n", sha256_hex(request));
    std::string key = "AWS4" + access_.secret_key;
    for (const std::string& part :
         {time_.substr(0, 8), access_.region, std::string("s3"), std::string("aws4_request")})
      key = hmac(key, part);
    return absl::BytesToHexString(hmac(key, text));
  }

 private:
  const S3Access& access_;
  const std::string time_, scope_;
};

}  // namespace

std::optional<S3Object> parse_s3(std::string_view url) {
  for (const std::string_view scheme : {"s3a://", "s3://"}) {
    if (!url.starts_with(scheme)) continue;
    url.remove_prefix(scheme.size());
    const size_t slash = std::min(url.find('/'), url.size());
    if (slash == 0) return {};
    return S3Object{std::string(url.substr(0, slash)),
                    std::string(url.substr(std::min(slash + 1, url.size())))};
  }
  return {};
}

std::string presigned_url(const S3Access& access, const S3Object& object, std::string_view method,
                          int64_t now_ms, std::chrono::seconds life, S3Query more) {
  const Address place = address_of(access, object);
  const Signature signature(access, now_ms);
  const std::string query = signature.query(std::move(more), life);
  return absl::StrCat(place.scheme, "://", place.host, place.path, "?", query,
                      "&X-Amz-Signature=", signature.of(method, place, query));
}

S3Failure s3_failure(int status, std::string_view body) {
  pugi::xml_document document;
  document.load_buffer(body.data(), body.size());
  const pugi::xml_node error = document.child("Error");
  S3Failure failure;
  failure.code = error.child("Code").text().as_string();
  const std::string message = error.child("Message").text().as_string();
  failure.text = absl::StrCat("HTTP ", status, failure.code.empty() ? "" : " ", failure.code);
  if (!message.empty()) absl::StrAppend(&failure.text, failure.code.empty() ? " " : ": ", message);
  for (char& c : failure.text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return failure;
}

}  // namespace tinderbox::net
