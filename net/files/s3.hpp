// Object stores that speak Amazon S3's protocol: which URL an object has, and who may ask for it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "net/types.hpp"

namespace tinderbox::net {

/// Where a store is and as whom to ask it.
struct S3Access {
  std::string endpoint;  // http(s)://host[:port]; empty: Amazon's of the region
  std::string region = "us-east-1";
  std::string access_key, secret_key;
  std::string session_token;  // of temporary credentials; empty: there is none
  bool path_style = false;    // endpoint/bucket/key, not bucket.endpoint/key
};

/// What s3a://bucket/key (or s3:) names. `key` may be empty or end in a slash: a folder.
struct S3Object {
  std::string bucket, key;
  bool operator==(const S3Object&) const = default;
};
/// None: it is no such URL.
std::optional<S3Object> parse_s3(std::string_view url);

/// Names and values of a query, not encoded.
using S3Query = std::map<std::string, std::string>;

/// A URL by which whoever has it may send `method` (GET, PUT, POST, DELETE) for `object` until
/// `life` (at most 7 days) after `now_ms` (since 1970). An empty key: the bucket itself is asked.
/// Source: AWS Signature Version 4, query parameters.
std::string presigned_url(const S3Access& access, const S3Object& object, std::string_view method,
                          int64_t now_ms, std::chrono::seconds life, S3Query query = {});

/// What a store's answer other than 2xx says.
struct S3Failure {
  std::string code;  // as NoSuchBucket; empty: it does not say
  std::string text;  // with the status, in the store's own words; one line
};
S3Failure s3_failure(int status, std::string_view body);

}  // namespace tinderbox::net
