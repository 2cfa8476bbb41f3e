// How a file is compressed, by its name.
#include "net/files/byte_source.hpp"

#include "tests/pch.hpp"

using namespace tinderbox;
using net::Compression;

TEST_CASE("a suffix tells how a file is compressed, of a URL the one before its query", "[files]") {
  struct Case {
    std::string name;
    Compression how;
    std::string unreadable;
  };
  const Case cases[] = {
      {"/d/x.gz", Compression::Gzip, ""},
      {"/d/x?y.gz", Compression::Gzip, ""},
      {"/d/x.gz?y", Compression::None, ""},
      {"s3a://b/x#y.deflate", Compression::Deflate, ""},
      {"http://h/x.gz", Compression::Gzip, ""},
      {"http://h/x.gz?signature=a/b", Compression::Gzip, ""},
      {"https://h/x.zst#part", Compression::Zstd, ""},
      {"https://h/x?of=y.gz", Compression::None, ""},
      {"/d/x?y.bz2", Compression::None, ".bz2"},
      {"http://h/x.bz2?signature=a", Compression::None, ".bz2"},
      {"http://h/x?of=y.xz", Compression::None, ""},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    CHECK(net::compression_of(c.name) == c.how);
    CHECK(net::unreadable_suffix(c.name) == c.unreadable);
  }
}

TEST_CASE("what is compressed in several turns is one member", "[files]") {
  for (const Compression how : {Compression::Gzip, Compression::Deflate})
    for (const size_t size : {0, 1, 999, 1000, 1001, 100'000}) {
      CAPTURE(how, size);
      Bytes bytes(size, 0);
      for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * i >> 3);
      CHECK(*net::uncompressed(how, net::compressed(how, bytes, 1000), size, "x") == bytes);
    }
}
