#include "net/files/s3_answers.hpp"

#include <absl/strings/numbers.h>
#include <absl/time/time.h>

#include <charconv>
#include <pugixml.hpp>
#include <sstream>

namespace tinderbox::net {
namespace {

/// Of encoding-type=url, where a space is a plus.
std::string decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* const hex = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(hex, hex + 2, byte, 16).ptr == hex + 2) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::string text_of(const pugi::xml_node& parent, const char* name) {
  return parent.child(name).text().as_string();
}

/// A page that has `root`, and whether its names are encoded.
struct Answer {
  explicit Answer(std::string_view xml, const char* name) {
    document.load_buffer(xml.data(), xml.size(),
                         pugi::parse_default | pugi::parse_ws_pcdata_single);
    root = document.child(name);
    encoded = text_of(root, "EncodingType") == "url";
  }
  std::string name_of(const pugi::xml_node& parent, const char* child) const {
    const std::string text = text_of(parent, child);
    return encoded ? decoded(text) : text;
  }
  pugi::xml_document document;
  pugi::xml_node root;
  bool encoded = false;
};

int64_t millis_of(const std::string& text) {
  absl::Time time;
  return absl::ParseTime(absl::RFC3339_full, text, &time, nullptr) ? absl::ToUnixMillis(time) : 0;
}

std::string written(const pugi::xml_document& document) {
  std::ostringstream out;
  document.save(out, "", pugi::format_raw | pugi::format_no_declaration);
  return out.str();
}

}  // namespace

Result<S3Page> parse_s3_page(std::string_view xml) {
  const Answer answer(xml, "ListBucketResult");
  if (!answer.root) return Error{"its answer is no list of objects"};
  S3Page page;
  for (const pugi::xml_node& node : answer.root.children("Contents")) {
    S3Listed object{answer.name_of(node, "Key"), 0, millis_of(text_of(node, "LastModified"))};
    if (object.key.empty() || !absl::SimpleAtoi(text_of(node, "Size"), &object.size) ||
        object.size < 0)
      return Error{"its list has an object without key or size"};
    page.objects.push_back(std::move(object));
  }
  for (const pugi::xml_node& node : answer.root.children("CommonPrefixes"))
    page.folders.push_back(answer.name_of(node, "Prefix"));
  if (text_of(answer.root, "IsTruncated") == "true") {
    page.next = text_of(answer.root, "NextContinuationToken");
    if (page.next.empty()) return Error{"its list goes on, but it does not say where"};
  }
  return page;
}

Result<S3Uploads> parse_s3_uploads(std::string_view xml) {
  const Answer answer(xml, "ListMultipartUploadsResult");
  if (!answer.root) return Error{"its answer is no list of uploads"};
  S3Uploads page;
  for (const pugi::xml_node& node : answer.root.children("Upload"))
    page.uploads.push_back({answer.name_of(node, "Key"), text_of(node, "UploadId")});
  if (text_of(answer.root, "IsTruncated") == "true")
    page.next = {answer.name_of(answer.root, "NextKeyMarker"),
                 text_of(answer.root, "NextUploadIdMarker")};
  return page;
}

std::string parse_s3_upload_id(std::string_view xml) {
  return text_of(Answer(xml, "InitiateMultipartUploadResult").root, "UploadId");
}

std::string parse_s3_late_failure(std::string_view xml) {
  const Answer alone(xml, "Error");
  const Answer among(xml, "DeleteResult");
  const pugi::xml_node error = alone.root ? alone.root : among.root.child("Error");
  if (!error) return "";
  return text_of(error, "Code") + ": " + text_of(error, "Message");
}

std::string s3_parts_xml(const std::vector<std::string>& tags) {
  pugi::xml_document document;
  pugi::xml_node all = document.append_child("CompleteMultipartUpload");
  for (size_t i = 0; i < tags.size(); ++i) {
    pugi::xml_node part = all.append_child("Part");
    part.append_child("PartNumber").text().set(static_cast<unsigned>(i + 1));
    part.append_child("ETag").text().set(tags[i].c_str());
  }
  return written(document);
}

std::string s3_keys_xml(const std::vector<std::string>& keys) {
  pugi::xml_document document;
  pugi::xml_node all = document.append_child("Delete");
  all.append_child("Quiet").text().set(true);
  for (const std::string& key : keys)
    all.append_child("Object").append_child("Key").text().set(key.c_str());
  return written(document);
}

}  // namespace tinderbox::net
