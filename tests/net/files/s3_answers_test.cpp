// What object stores answer: pages, uploads, failures with status 200, and what is none of these.
#include "net/files/s3_answers.hpp"

#include <random>

#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::net;

namespace {

const std::string kPage =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><EncodingType>url"
    "</EncodingType><IsTruncated>true</IsTruncated><NextContinuationToken>t/1=</"
    "NextContinuationToken><Contents><Key>a/b+c%2Bd%25</Key><LastModified>1970-01-01T00:00:01.500Z"
    "</LastModified><Size>12</Size></Contents><CommonPrefixes><Prefix>a/e/</Prefix></"
    "CommonPrefixes>"
    "</ListBucketResult>";

std::string error_of(const std::string& xml) {
  const auto page = parse_s3_page(xml);
  return page ? "" : page.error().message;
}

}  // namespace

TEST_CASE("a page of a list: encoded keys, sizes, times, folders, where it goes on", "[s3]") {
  const auto page = parse_s3_page(kPage);
  REQUIRE(page);
  CHECK(page->objects == std::vector<S3Listed>{{"a/b c+d%", 12, 1500}});
  CHECK(page->folders == std::vector<std::string>{"a/e/"});
  CHECK(page->next == "t/1=");
}

TEST_CASE("keys that a store does not encode are taken as they are", "[s3]") {
  const auto page = parse_s3_page(
      "<ListBucketResult><Contents><Key>a+b%41 &amp; c</Key><Size>0</Size></Contents>"
      "</ListBucketResult>");
  REQUIRE(page);
  CHECK(page->objects == std::vector<S3Listed>{{"a+b%41 & c", 0, 0}});
  CHECK(page->next == "");
}

TEST_CASE("a page that can't be believed is an error", "[s3]") {
  CHECK(error_of("") == "its answer is no list of objects");
  CHECK(error_of("<html><body>hello</body></html>") == "its answer is no list of objects");
  for (const char* size : {"", "-1", "x", "99999999999999999999"})
    CHECK(error_of("<ListBucketResult><Contents><Key>k</Key><Size>" + std::string(size) +
                   "</Size></Contents></ListBucketResult>") ==
          "its list has an object without key or size");
  CHECK(error_of("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>") ==
        "its list goes on, but it does not say where");
}

TEST_CASE("uploads, their ids, failures that come with status 200", "[s3]") {
  const auto page = parse_s3_uploads(
      "<ListMultipartUploadsResult><Upload><Key>k</Key><UploadId>1</UploadId></Upload><IsTruncated>"
      "true</IsTruncated><NextKeyMarker>k</NextKeyMarker><NextUploadIdMarker>1</NextUploadIdMarker>"
      "</ListMultipartUploadsResult>");
  REQUIRE(page);
  CHECK(page->uploads == std::vector<S3Upload>{{"k", "1"}});
  CHECK(page->next == S3Upload{"k", "1"});
  CHECK_FALSE(parse_s3_uploads("<x/>"));
  CHECK(parse_s3_upload_id("<InitiateMultipartUploadResult><UploadId>u</UploadId>"
                           "</InitiateMultipartUploadResult>") == "u");
  CHECK(parse_s3_upload_id("no XML") == "");
  CHECK(parse_s3_late_failure("<CompleteMultipartUploadResult/>") == "");
  CHECK(parse_s3_late_failure("<Error><Code>InternalError</Code><Message>oh</Message></Error>") ==
        "InternalError: oh");
  CHECK(
      parse_s3_late_failure("<DeleteResult><Error><Key>k</Key><Code>AccessDenied</Code><Message>no"
                            "</Message></Error></DeleteResult>") == "AccessDenied: no");
}

TEST_CASE("what is sent: parts in order, keys with what XML can't have plainly", "[s3]") {
  CHECK(s3_parts_xml({"\"a\"", "\"b\""}) ==
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\"a\"</ETag></Part><Part>"
        "<PartNumber>2</PartNumber><ETag>\"b\"</ETag></Part></CompleteMultipartUpload>");
  CHECK(s3_keys_xml({"a<&>b"}) ==
        "<Delete><Quiet>true</Quiet><Object><Key>a&lt;&amp;&gt;b</Key></Object></Delete>");
}

TEST_CASE("foreign bytes crash nothing: cut at every place, and with bytes changed", "[s3]") {
  std::mt19937 random(7);
  for (size_t n = 0; n <= kPage.size(); ++n) {
    std::string bytes = kPage.substr(0, n);
    (void)parse_s3_page(bytes);
    bytes = kPage;
    for (int change = 0; change < 8; ++change)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    (void)parse_s3_page(bytes);
    (void)parse_s3_uploads(bytes);
    (void)parse_s3_upload_id(bytes);
    (void)parse_s3_late_failure(bytes);
  }
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "<a>";
  CHECK_FALSE(parse_s3_page(deep));
}
