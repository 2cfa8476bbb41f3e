// Object stores: Amazon's own example of a signature, places, failures.
#include "net/files/s3.hpp"

#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::net;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

constexpr int64_t kMay24 = 1369353600000;  // 2013-05-24T00:00:00Z

S3Access example() {
  S3Access a;
  a.access_key = "AKIAIOSFODNN7EXAMPLE";
  a.secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
  return a;
}

std::string before_query(const std::string& url) { return url.substr(0, url.find('?')); }

}  // namespace

TEST_CASE("the signature of a URL is that of Amazon's example", "[s3]") {
  CHECK(presigned_url(example(), {"examplebucket", "test.txt"}, "GET", kMay24, 24h) ==
        "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
        "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
        "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
        "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
}

TEST_CASE("where a store keeps an object", "[s3]") {
  struct Case {
    std::string endpoint, region;
    bool path_style;
    S3Object object;
    std::string want;
  };
  const Case cases[] = {
      {"", "eu-west-1", false, {"b", "k"}, "https://b.s3.eu-west-1.amazonaws.com/k"},
      {"http://h:9000", "us-east-1", true, {"b", "a/b c+d"}, "http://h:9000/b/a/b%20c%2Bd"},
      {"https://h:443", "us-east-1", false, {"b", "k"}, "https://b.h/k"},
      {"http://h:80", "us-east-1", false, {"b", ""}, "http://b.h/"},
      {"http://[::1]:9000", "us-east-1", true, {"b", "k"}, "http://[::1]:9000/b/k"},
  };
  for (const Case& c : cases) {
    S3Access access = example();
    access.endpoint = c.endpoint;
    access.region = c.region;
    access.path_style = c.path_style;
    INFO(c.want);
    CHECK(before_query(presigned_url(access, c.object, "PUT", kMay24, 1h)) == c.want);
  }
}

TEST_CASE("temporary credentials show their token, and no URL shows a secret", "[s3]") {
  S3Access access = example();
  access.session_token = "a/token=";
  const std::string url = presigned_url(access, {"b", "k"}, "GET", kMay24, 1h);
  CHECK_THAT(url, Contains("&X-Amz-Security-Token=a%2Ftoken%3D&"));
  CHECK_THAT(url, !Contains("wJalr"));
}

TEST_CASE("what an s3a URL names", "[s3]") {
  CHECK(parse_s3("s3a://b/k/l") == S3Object{"b", "k/l"});
  CHECK(parse_s3("s3://b/") == S3Object{"b", ""});
  CHECK(parse_s3("s3a://b") == S3Object{"b", ""});
  for (const char* other : {"s3a:///k", "http://b/k", "s3n://b/k", "/k", ""})
    CHECK_FALSE(parse_s3(other));
}

TEST_CASE("a store's failure in its own words", "[s3]") {
  const S3Failure denied = s3_failure(403,
                                      "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code>"
                                      "<Message>Access\nDenied</Message></Error>");
  CHECK(denied.text == "HTTP 403 AccessDenied: Access Denied");
  CHECK(denied.code == "AccessDenied");
  CHECK(s3_failure(403, "<Error><Message>no</Message></Error>").text == "HTTP 403 no");
  CHECK(s3_failure(404, "<Error><Code>NoSuchKey</Code></Error>").text == "HTTP 404 NoSuchKey");
  CHECK(s3_failure(502, "<html>bad gateway").text == "HTTP 502");
  CHECK(s3_failure(502, "<html>bad gateway").code.empty());
}
