// Files of web servers as these are: with and without ranges, that break off, change, or are busy.
#include "net/files/remote_file.hpp"

#include <atomic>

#include "net/files/all_files.hpp"
#include "net/files/byte_source.hpp"
#include "tests/net/http/web_site.hpp"

using namespace tinderbox;
using namespace tinderbox::net;
using Catch::Matchers::Contains;
using test::WebSite;

namespace {

std::string numbered(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) text += std::to_string(i) + " and some more\n";
  return text;
}

HttpPatience hurried(std::vector<Duration>* pauses = nullptr) {
  HttpPatience patience;
  patience.pause = [pauses](Duration d) {
    if (pauses) pauses->push_back(d);
  };
  return patience;
}

std::unique_ptr<Files> web(HttpPatience patience = hurried()) {
  return make_all_files(
      make_real_files(), [](const std::string&) -> Result<S3Access> { return Error{"none"}; },
      std::move(patience));
}

/// Front to back, in reads of `n`.
Result<std::string> all_of(Files& files, const std::string& path, size_t n = 100000) {
  auto file = files.open(path);
  if (!file) return file.error();
  auto bytes = bytes_of(std::move(*file));
  std::string all, part(n, 0);
  while (true) {
    const auto got = bytes->read(part.data(), n);
    if (!got) return got.error();
    all.append(part, 0, *got);
    if (*got < n) return all;
  }
}

std::string error_of(const Result<std::string>& r) { return r ? "" : r.error().message; }

/// A body of which the first `breaks` answers end after `after` bytes, in the middle of the
/// connection.
struct Breaking {
  const std::string text = numbered(200000);
  std::atomic<int> asked{0}, breaks{0};
  void answer(httplib::Response& r) {
    ++asked;
    r.set_header("ETag", "\"v1\"");
    r.set_content_provider(text.size(), "text/plain",
                           [this](size_t at, size_t n, httplib::DataSink& sink) {
                             if (n > 1000000 && breaks > 0) {
                               --breaks;
                               sink.write(text.data() + at, 700000);
                               return false;
                             }
                             return sink.write(text.data() + at, std::min<size_t>(n, 65536));
                           });
  }
};

}  // namespace

TEST_CASE("a file of a web server with ranges: size, any part of it, all of it", "[remote]") {
  WebSite site;
  const std::string text = numbered(150000);
  std::atomic<int> asked{0};
  site.server.Get("/x", [&](const httplib::Request&, httplib::Response& r) {
    ++asked;
    r.set_content(text, "text/plain");
  });
  site.start();
  const auto files = web();
  const auto stat = files->stat(site.root + "/x");
  REQUIRE((stat && *stat));
  CHECK((*stat)->size == static_cast<int64_t>(text.size()));
  auto file = files->open(site.root + "/x");
  REQUIRE(file);
  std::string part(10, 0);
  CHECK(*(*file)->read_at(1000000, part.data(), 10) == 10);
  CHECK(part == text.substr(1000000, 10));
  CHECK(*(*file)->read_at(static_cast<int64_t>(text.size()) - 3, part.data(), 10) == 3);
  CHECK(*(*file)->read_at(static_cast<int64_t>(text.size()) + 3, part.data(), 10) == 0);
  CHECK((*file)->view(5, 100)->view() == text.substr(5, 100));
  CHECK_FALSE((*file)->view(5, static_cast<int64_t>(text.size())));
  asked = 0;
  CHECK(*all_of(*files, site.root + "/x") == text);
  CHECK(asked == 2);  // the first byte, then all of them
}

TEST_CASE("what is expected comes in one answer, what is not in one of its own", "[remote]") {
  WebSite site;
  const std::string text = numbered(300000);
  std::vector<std::string> ranges;
  std::mutex mutex;
  site.server.Get("/x", [&](const httplib::Request& q, httplib::Response& r) {
    std::lock_guard lock(mutex);
    ranges.push_back(q.get_header_value("Range"));
    r.set_content(text, "text/plain");
  });
  site.start();
  auto file = web()->open(site.root + "/x");
  REQUIRE(file);
  (*file)->expect(1000, 3001000);
  std::string got(3000000, 0);
  for (size_t at = 0; at < got.size(); at += 500)
    REQUIRE(*(*file)->read_at(static_cast<int64_t>(1000 + at), got.data() + at, 500) == 500);
  CHECK(got == text.substr(1000, got.size()));
  got.resize(1000);
  CHECK(*(*file)->read_at(3001500, got.data(), 1000) == 1000);
  CHECK(got == text.substr(3001500, 1000));
  CHECK(ranges ==
        std::vector<std::string>{"bytes=0-0", "bytes=1000-3000999", "bytes=3001500-3002499"});
}

TEST_CASE("a server without ranges, with and without a length: front to back", "[remote]") {
  WebSite site;
  const std::string text = numbered(150000);
  // httplib answers ranges by itself: unless the answer is one already.
  site.server.Get("/chunked", [&](const httplib::Request&, httplib::Response& r) {
    r.set_chunked_content_provider("text/plain", [&](size_t at, httplib::DataSink& sink) {
      if (at >= text.size()) return sink.done(), true;
      return sink.write(text.data() + at, std::min<size_t>(50000, text.size() - at));
    });
    r.status = 200;
  });
  site.server.set_pre_routing_handler([&](const httplib::Request& q, httplib::Response&) {
    const_cast<httplib::Request&>(q).ranges.clear();
    return httplib::Server::HandlerResponse::Unhandled;
  });
  site.server.Get("/whole", [&](const httplib::Request&, httplib::Response& r) {
    r.set_content(text, "text/plain");
    r.status = 200;
  });
  site.server.Get("/empty", [&](const httplib::Request&, httplib::Response& r) {
    r.set_content("", "text/plain");
    r.status = 200;
  });
  site.start();
  const auto files = web();
  for (const char* name : {"/chunked", "/whole"}) {
    INFO(name);
    CHECK((*files->stat(site.root + name))->size == -1);
    CHECK(*all_of(*files, site.root + name) == text);
    CHECK(*all_of(*files, site.root + name, 1 << 20) == text);
    auto file = files->open(site.root + name);
    std::string part(10, 0);
    CHECK(*(*file)->read_at(1000000, part.data(), 10) == 10);
    CHECK(part == text.substr(1000000, 10));
  }
  CHECK((*files->stat(site.root + "/empty"))->size == 0);
  CHECK(*all_of(*files, site.root + "/empty") == "");
}

TEST_CASE("a body that breaks off goes on where it broke, not for ever", "[remote]") {
  WebSite site, other;
  Breaking body;
  site.server.Get("/x", [&](const httplib::Request&, httplib::Response& r) { body.answer(r); });
  site.start();
  std::vector<Duration> pauses;
  const auto files = web(hurried(&pauses));
  body.breaks = 3;
  CHECK(*all_of(*files, site.root + "/x") == body.text);
  CHECK(pauses.size() == 3);
  CHECK(body.breaks == 0);
  other.server.Get("/x", [&](const httplib::Request& q, httplib::Response& r) {
    r.set_header("ETag", "\"v1\"");
    if (q.get_header_value("Range") == "bytes=0-0") return r.set_content("abc", "text/plain");
    r.status = 503;
  });
  other.start();
  pauses.clear();
  CHECK(error_of(all_of(*files, other.root + "/x")) ==
        "cannot read " + other.root + "/x: the server answered status 503");
  CHECK(pauses.size() == 7);
}

TEST_CASE("a server that is busy is asked again, later and later", "[remote]") {
  WebSite site;
  std::atomic<int> asked{0};
  site.server.Get("/x", [&](const httplib::Request&, httplib::Response& r) {
    if (++asked < 4)
      r.status = 503;
    else
      r.set_content("text", "text/plain");
  });
  site.start();
  std::vector<Duration> pauses;
  CHECK(*all_of(*web(hurried(&pauses)), site.root + "/x") == "text");
  REQUIRE(pauses.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(pauses[i] >= std::chrono::milliseconds(50 << i));
    CHECK(pauses[i] <= std::chrono::milliseconds(100 << i));
  }
}

TEST_CASE("work that is not wanted any more is not tried again", "[remote]") {
  WebSite site;
  std::atomic<int> asked{0};
  site.server.Get("/x", [&](const httplib::Request&, httplib::Response& r) {
    ++asked;
    r.status = 503;
  });
  site.start();
  HttpPatience patience = hurried();
  patience.cancelled = [] { return true; };
  CHECK_FALSE(web(patience)->open(site.root + "/x"));
  CHECK(asked == 1);
}

TEST_CASE("a file that changes while it is read is an error, not a mixture", "[remote]") {
  WebSite site;
  std::atomic<int> version{1};
  std::string wanted;
  site.server.Get("/x", [&](const httplib::Request& q, httplib::Response& r) {
    wanted = q.get_header_value("If-Match");
    r.set_header("ETag", "\"" + std::to_string(version) + "\"");
    r.set_content(numbered(100), "text/plain");
  });
  site.server.Get("/refuses", [&](const httplib::Request& q, httplib::Response& r) {
    r.set_header("ETag", "\"1\"");
    if (!q.get_header_value("If-Match").empty()) return void(r.status = 412);
    r.set_content("text", "text/plain");
  });
  site.start();
  const auto files = web();
  auto file = files->open(site.root + "/x");
  std::string part(10, 0);
  CHECK((*file)->read_at(0, part.data(), 10));
  CHECK(wanted == "\"1\"");
  version = 2;
  const auto again = (*file)->read_at(10, part.data(), 10);
  REQUIRE_FALSE(again);
  CHECK_THAT(again.error().message, Contains("it was changed while it was read"));
  CHECK_THAT(error_of(all_of(*files, site.root + "/refuses")),
             Contains("it was changed while it was read"));
}

TEST_CASE("redirects are followed; secrets of a URL are in no error", "[remote]") {
  WebSite site;
  site.server.Get("/a/x", [](const httplib::Request&, httplib::Response& r) {
    r.set_redirect("/y?signed=secret");
  });
  site.server.Get("/y", [](const httplib::Request& q, httplib::Response& r) {
    r.set_content(q.get_param_value("signed"), "text/plain");
  });
  site.server.Get("/loop",
                  [](const httplib::Request&, httplib::Response& r) { r.set_redirect("/loop"); });
  site.server.Get("/denied", [](const httplib::Request&, httplib::Response& r) { r.status = 403; });
  site.start();
  const auto files = web();
  CHECK(*all_of(*files, site.root + "/a/x") == "secret");
  CHECK_THAT(error_of(all_of(*files, site.root + "/loop")), Contains("more than 10 redirects"));
  CHECK(error_of(all_of(*files, site.root + "/denied?signed=secret")) ==
        "cannot read " + site.root + "/denied: the server answered status 403");
  CHECK_FALSE(*files->stat(site.root + "/none"));
}

TEST_CASE("a reader that goes away early ends what comes", "[remote]") {
  WebSite site;
  Breaking body;
  site.server.Get("/x", [&](const httplib::Request&, httplib::Response& r) { body.answer(r); });
  site.start();
  const auto files = web();
  for (int i = 0; i < 20; ++i) {
    auto file = files->open(site.root + "/x");
    (*file)->expect(0, (*file)->size());
    std::string part(10, 0);
    CHECK(*(*file)->read_at(0, part.data(), 10) == 10);
  }
}

TEST_CASE("a web server is only read", "[remote]") {
  const auto files = web();
  for (const auto& refused : {files->make_directories("http://h/x"), files->remove("http://h/x"),
                              files->remove_tree("http://h/x")}) {
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().message,
               Contains("cannot write to http://h/x: web servers are only read"));
  }
  CHECK_FALSE(files->create("http://h/x"));
  CHECK_FALSE(files->list("http://h/x"));
}
