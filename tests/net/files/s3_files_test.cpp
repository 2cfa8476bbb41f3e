// What is asked of an object store, and what becomes of its answers; a real one is in
// tests/processes/cluster/s3_test.sh.
#include "net/files/s3_files.hpp"

#include "tests/net/http/web_site.hpp"

using namespace tinderbox;
using namespace tinderbox::net;
using Catch::Matchers::Contains;
using test::WebSite;

namespace {

/// A store of one bucket whose answers are `answer`'s; every request is kept without its signature.
struct Store {
  WebSite site;
  std::vector<std::string> asked;
  std::function<void(const httplib::Request&, httplib::Response&)> answer;
  std::unique_ptr<Files> files;
  std::mutex mutex;

  explicit Store(std::function<void(const httplib::Request&, httplib::Response&)> a)
      : answer(std::move(a)) {
    const auto handler = [this](const httplib::Request& q, httplib::Response& r) {
      std::lock_guard lock(mutex);
      std::string line = q.method + " " + q.path;
      for (const auto& [name, value] : q.params)
        if (!name.starts_with("X-Amz-")) line += " " + name + "=" + value;
      asked.push_back(line);
      answer(q, r);
      // httplib would cut an error to the range that was asked for.
      if (r.status >= 400) const_cast<httplib::Request&>(q).ranges.clear();
    };
    site.server.Get(".*", handler).Put(".*", handler).Post(".*", handler).Delete(".*", handler);
    site.start();
    HttpPatience patience;
    patience.pause = [](Duration) {};
    files = make_s3_files(std::make_shared<HttpPool>(patience),
                          [this](const std::string& bucket) -> Result<S3Access> {
                            if (bucket == "other") return Error{"no credentials"};
                            return S3Access{site.root, "us-east-1", "K", "S", "", true};
                          });
  }
};

std::string page(const std::string& content, const std::string& next = "") {
  return "<ListBucketResult>" + content +
         (next.empty() ? ""
                       : "<IsTruncated>true</IsTruncated><NextContinuationToken>" + next +
                             "</NextContinuationToken>") +
         "</ListBucketResult>";
}
std::string object(const std::string& key) {
  return "<Contents><Key>" + key + "</Key><Size>3</Size></Contents>";
}
void fails(httplib::Response& r, int status, const std::string& code) {
  r.status = status;
  r.set_content("<Error><Code>" + code + "</Code><Message>so it is</Message></Error>", "text/xml");
}

}  // namespace

TEST_CASE("a list is read page after page, without the folder itself", "[s3]") {
  Store store([](const httplib::Request& q, httplib::Response& r) {
    if (!q.has_param("continuation-token"))
      r.set_content(page(object("d/") + object("d/b"), "more"), "text/xml");
    else
      r.set_content(page(object("d/a") + "<CommonPrefixes><Prefix>d/c/</Prefix></CommonPrefixes>"),
                    "text/xml");
  });
  const auto entries = store.files->list("s3a://b/d");
  REQUIRE(entries);
  CHECK(*entries ==
        std::vector<FileEntry>{{"a", {false, 3, 0}}, {"b", {false, 3, 0}}, {"c", {true, 0, 0}}});
  CHECK(store.asked ==
        std::vector<std::string>{
            "GET /b/ delimiter=/ encoding-type=url list-type=2 prefix=d/",
            "GET /b/ continuation-token=more delimiter=/ encoding-type=url list-type=2 prefix=d/"});
}

TEST_CASE("a store that gives the same page for ever, or no list, is an error", "[s3]") {
  Store store([](const httplib::Request&, httplib::Response& r) {
    r.set_content(page(object("d/a"), "again"), "text/xml");
  });
  const auto entries = store.files->list("s3a://b/d");
  REQUIRE_FALSE(entries);
  CHECK(entries.error().message == "cannot list s3a://b/d/: the store gives the same page again");
  store.answer = [](const httplib::Request&, httplib::Response& r) {
    r.set_content("<html>", "text/html");
  };
  CHECK(store.files->list("s3a://b/d").error().message ==
        "cannot list s3a://b/d/: its answer is no list of objects");
}

TEST_CASE("what a key is: an object, what others begin with, nothing", "[s3]") {
  Store store([](const httplib::Request& q, httplib::Response& r) {
    if (q.path == "/b/o") return r.set_content("xyz", "text/plain");
    if (q.path == "/b/empty") return fails(r, 416, "InvalidRange");
    if (q.path != "/b/") return fails(r, 404, "NoSuchKey");
    r.set_content(page(q.get_param_value("prefix") == "d/" ? object("d/a") : ""), "text/xml");
  });
  CHECK(**store.files->stat("s3a://b/o") == FileStat{false, 3, 0});
  CHECK(**store.files->stat("s3a://b/empty") == FileStat{false, 0, 0});
  CHECK(**store.files->stat("s3a://b/d") == FileStat{true, 0, 0});
  CHECK(**store.files->stat("s3a://b") == FileStat{true, 0, 0});
  CHECK_FALSE(*store.files->stat("s3a://b/none"));
}

TEST_CASE("a small object is one PUT at its commit, and none without it", "[s3]") {
  Store store([](const httplib::Request&, httplib::Response&) {});
  { REQUIRE((*store.files->create("s3a://b/k"))->append("abc")); }
  CHECK(store.asked.empty());
  auto created = store.files->create("s3a://b/k");
  auto& file = *created;
  REQUIRE(file->append("abc"));
  REQUIRE(file->commit());
  CHECK(store.asked == std::vector<std::string>{"PUT /b/k"});
}

TEST_CASE("a large object goes in parts; one that is not committed is aborted", "[s3]") {
  std::map<std::string, size_t> parts;
  bool lose_answer = false;
  Store store([&](const httplib::Request& q, httplib::Response& r) {
    if (q.has_param("uploads"))
      return r.set_content(
          "<InitiateMultipartUploadResult><UploadId>u</UploadId>"
          "</InitiateMultipartUploadResult>",
          "text/xml");
    if (q.method == "PUT") parts[q.get_param_value("partNumber")] = q.body.size();
    if (q.method == "PUT") r.set_header("ETag", "\"t" + q.get_param_value("partNumber") + "\"");
    if (q.method == "POST" && lose_answer) {
      // It was done, and then the connection broke: another try finds no upload.
      return fails(r, 404, "NoSuchUpload");
    }
    if (q.method == "POST") r.set_content("<CompleteMultipartUploadResult/>", "text/xml");
    if (q.method == "GET") r.set_content(std::string(20 << 20, 'x'), "text/plain");
  });
  const std::string text(20 << 20, 'x');
  { REQUIRE((*store.files->create("s3a://b/k"))->append(text)); }
  CHECK(store.asked ==
        std::vector<std::string>{"POST /b/k uploads=", "PUT /b/k partNumber=1 uploadId=u",
                                 "DELETE /b/k uploadId=u"});
  for (const bool lost : {false, true}) {
    lose_answer = lost;
    store.asked.clear();
    auto created = store.files->create("s3a://b/k");
    auto& file = *created;
    REQUIRE(file->append(text));
    REQUIRE(file->commit());
    file.reset();
    CHECK(parts == std::map<std::string, size_t>{{"1", 16 << 20}, {"2", 4 << 20}});
    CHECK(store.asked.at(3) == "POST /b/k uploadId=u");
    CHECK(store.asked.size() == (lost ? 5 : 4));  // whether it is there
  }
}

TEST_CASE("a commit that fails says so, also with status 200", "[s3]") {
  Store store([](const httplib::Request& q, httplib::Response& r) {
    if (q.has_param("uploads"))
      return r.set_content(
          "<InitiateMultipartUploadResult><UploadId>u</UploadId>"
          "</InitiateMultipartUploadResult>",
          "text/xml");
    r.set_header("ETag", "\"t\"");
    if (q.method == "POST")
      r.set_content("<Error><Code>InternalError</Code><Message>oh</Message></Error>", "text/xml");
  });
  auto created = store.files->create("s3a://b/k");
  auto& file = *created;
  REQUIRE(file->append(std::string(17 << 20, 'x')));
  const auto committed = file->commit();
  REQUIRE_FALSE(committed);
  CHECK(committed.error().message == "cannot write s3a://b/k: InternalError: oh");
  file.reset();
  CHECK(store.asked.back() == "DELETE /b/k uploadId=u");
}

TEST_CASE("uncommitted uploads below a directory are thrown away, and no others", "[s3]") {
  Store store([](const httplib::Request& q, httplib::Response& r) {
    if (q.method == "DELETE") return void(r.status = 204);
    const bool second = q.has_param("key-marker");
    r.set_content(std::string("<ListMultipartUploadsResult>") +
                      (second ? "<Upload><Key>d/b</Key><UploadId>2</UploadId></Upload>"
                              : "<Upload><Key>d/a</Key><UploadId>1</UploadId></Upload><Upload><Key>"
                                "dd</Key><UploadId>9</UploadId></Upload><IsTruncated>true"
                                "</IsTruncated><NextKeyMarker>dd</NextKeyMarker>"
                                "<NextUploadIdMarker>9</NextUploadIdMarker>") +
                      "</ListMultipartUploadsResult>",
                  "text/xml");
  });
  CHECK(*store.files->discard_uncommitted("s3a://b/d") == 2);
  CHECK(store.asked ==
        std::vector<std::string>{"GET /b/ prefix=d/ uploads=", "DELETE /b/d/a uploadId=1",
                                 "GET /b/ key-marker=dd prefix=d/ upload-id-marker=9 uploads=",
                                 "DELETE /b/d/b uploadId=2"});
}

TEST_CASE("a tree is removed by its list, in one request", "[s3]") {
  std::string body, sum;
  Store store([&](const httplib::Request& q, httplib::Response& r) {
    if (q.method == "GET") return r.set_content(page(object("d/a") + object("d/e/b")), "text/xml");
    body = q.body;
    sum = q.get_header_value("Content-MD5");
    r.set_content("<DeleteResult/>", "text/xml");
  });
  CHECK(*store.files->remove_tree("s3a://b/d"));
  CHECK(store.asked.back() == "POST /b/ delete=");
  CHECK_THAT(body, Contains("<Key>d/a</Key>") && Contains("<Key>d/e/b</Key>"));
  CHECK(sum.size() == 24);
}

TEST_CASE("a store's refusals, one line each", "[s3]") {
  Store store([](const httplib::Request&, httplib::Response& r) { fails(r, 403, "AccessDenied"); });
  CHECK(store.files->open("s3a://b/k").error().message ==
        "cannot read s3a://b/k: HTTP 403 AccessDenied: so it is");
  CHECK(store.files->list("s3a://b/k").error().message ==
        "cannot list s3a://b/k/: HTTP 403 AccessDenied: so it is");
  CHECK(store.files->open("s3a://other/k").error().message ==
        "cannot read s3a://other/k: no credentials");
  CHECK_THAT(store.files->append("s3a://b/k").error().message, Contains("is written once"));
  CHECK_THAT(store.files->rename("s3a://b/k", "s3a://b/l").error().message,
             Contains("keeps its name"));
  CHECK_THAT(store.files->open("s3a:///k").error().message, Contains("names no bucket"));
}
