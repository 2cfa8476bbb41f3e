// What object stores answer in XML. Thread: any. All of it is foreign: nothing here fails, what is
// not understood is not there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/types.hpp"

namespace tinderbox::net {

struct S3Listed {
  std::string key;
  int64_t size = 0;
  int64_t modified = 0;  // Unit: milliseconds since the Unix epoch
  bool operator==(const S3Listed&) const = default;
};

/// A page of ListObjectsV2.
struct S3Page {
  std::vector<S3Listed> objects;
  std::vector<std::string> folders;  // common prefixes, with their slash
  std::string next;                  // continuation token; empty: the last page
};
/// Errors: it is no such page.
Result<S3Page> parse_s3_page(std::string_view xml);

struct S3Upload {
  std::string key, id;
  bool operator==(const S3Upload&) const = default;
};
/// A page of ListMultipartUploads.
struct S3Uploads {
  std::vector<S3Upload> uploads;
  S3Upload next;  // markers; both empty: the last page
};
Result<S3Uploads> parse_s3_uploads(std::string_view xml);

/// The id that CreateMultipartUpload gave; empty: none.
std::string parse_s3_upload_id(std::string_view xml);

/// What CompleteMultipartUpload, or DeleteObjects of one of its keys, says with status 200 although
/// it failed; empty: it succeeded.
std::string parse_s3_late_failure(std::string_view xml);

/// Bodies of CompleteMultipartUpload (`tags` of parts 1, 2, …) and of DeleteObjects.
std::string s3_parts_xml(const std::vector<std::string>& tags);
std::string s3_keys_xml(const std::vector<std::string>& keys);

}  // namespace tinderbox::net
