// An optional value behind a pointer is copied, compared and moved as if it were not.
#include <catch2/catch.hpp>

#include <string>

#include "net/wire/heap_optional.hpp"

using tinderbox::HeapOptional;

TEST_CASE("a copy has a value of its own") {
  HeapOptional<std::string> a = std::string("one");
  HeapOptional<std::string> b = a;
  *b = "two";
  CHECK(*a == "one");
  b = a;
  CHECK(b == a);
  *a = "three";
  CHECK(*b == "one");
  CHECK_FALSE(b == a);
  a = HeapOptional<std::string>(a);
  CHECK(*a == "three");
}

TEST_CASE("what is empty equals only what is empty") {
  HeapOptional<std::string> none, other = std::nullopt, empty_text = std::string();
  CHECK(none == other);
  CHECK_FALSE(none == empty_text);
  CHECK_FALSE(empty_text == none);
  CHECK_FALSE(none);
  CHECK(other.emplace().empty());
  CHECK(other == empty_text);
  other.reset();
  CHECK(none == other);
}

TEST_CASE("it takes the room of a pointer and is empty after it was moved from") {
  struct Large {
    char bytes[500];
  };
  STATIC_REQUIRE(sizeof(HeapOptional<Large>) == sizeof(void*));
  HeapOptional<std::string> from = std::string("text");
  const auto take = [](HeapOptional<std::string>& value) { return std::move(value); };
  const HeapOptional<std::string> to = take(from);
  CHECK(to->size() == 4);
  CHECK_FALSE(from);
}
