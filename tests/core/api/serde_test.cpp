// The record codec: values round-trip, foreign bytes are refused, kept records own what they hold.
#include "core/api/closure.hpp"

#include <deque>
#include <limits>
#include <random>
#include <unordered_map>

using namespace tinderbox;
using core::from_bytes;
using core::to_bytes;

namespace {

struct Point {
  int32_t x = 0, y = 0;
  auto operator<=>(const Point&) const = default;
};
struct Padded {
  int8_t small = 0;
  int64_t large = 0;
  bool operator==(const Padded&) const = default;
};
struct Order {
  std::string customer;
  std::vector<Point> route;
  std::optional<double> discount;
  bool express = false;
  bool operator==(const Order&) const = default;
};
struct Tree {
  int32_t value = 0;
  std::vector<Tree> children;
  bool operator==(const Tree&) const = default;
};
class Account {
 public:
  Account() = default;
  Account(std::string owner, int64_t cents) : owner_(std::move(owner)), cents_(cents) {}
  bool operator==(const Account&) const = default;
  template <class Self>
  static auto record_fields(Self& self) {
    return std::tie(self.owner_, self.cents_);
  }

 private:
  std::string owner_;
  int64_t cents_ = 0;
};
/// Nothing but its elements.
struct Route : std::vector<int64_t> {
  using std::vector<int64_t>::vector;
};
struct Premium : Account {
  int64_t bonus = 0;
  template <class Self>
  static auto record_fields(Self& self) {
    return std::tuple_cat(Account::record_fields(self), std::tie(self.bonus));
  }
};
/// Leaves out what it can compute again.
struct Cached : Account {
  int64_t cache = 0;
  template <class Self>
  static auto record_fields(Self& self) {
    return Account::record_fields(self);
  }
};
enum class Colour : uint8_t { Red, Green };

template <class T>
void round_trip(const T& value) {
  const Bytes bytes = to_bytes(value);
  CHECK(from_bytes<T>(bytes) == value);
  for (size_t n = 0; n < bytes.size(); ++n) {
    CHECK_THROWS_AS(from_bytes<T>(std::string_view(bytes).substr(0, n)), DecodeError);
  }
  CHECK_THROWS_AS(from_bytes<T>(bytes + '\0'), DecodeError);
}

}  // namespace

TEST_CASE("values of every kind round-trip and every cut of their bytes is refused", "[serde]") {
  round_trip(int32_t{-7});
  round_trip(std::numeric_limits<uint64_t>::max());
  round_trip(2.5);
  round_trip(true);
  round_trip(Colour::Green);
  round_trip(std::string("naïve\0text", 11));
  round_trip(std::string(300, 'x'));
  round_trip(std::pair<std::string, int64_t>("word", 3));
  round_trip(std::tuple<int8_t, std::string, double>(1, "b", 2.0));
  round_trip(std::vector<int64_t>{1, 2, 3});
  round_trip(std::vector<bool>{true, false, true});
  round_trip(std::vector<std::string>{"a", "", "c"});
  round_trip(std::deque<std::string>{"a", "b"});
  round_trip(std::list<std::string>{"a", "b"});
  round_trip(std::u16string(u"naïve"));
  round_trip(Route{1, 2, 3});
  round_trip(std::chrono::milliseconds(5));
  round_trip(std::chrono::system_clock::time_point(std::chrono::seconds(9)));
  round_trip(core::Int128{1} << 100);
  round_trip(std::map<std::string, std::vector<int>>{{"a", {1}}, {"b", {}}});
  round_trip(std::unordered_map<int, std::string>{{1, "x"}, {2, "y"}});
  round_trip(std::set<std::string>{"p", "q"});
  round_trip(std::array<std::string, 2>{"p", "q"});
  round_trip(std::optional<std::string>("there"));
  round_trip(std::optional<std::string>());
  round_trip(std::variant<int32_t, std::string, std::monostate>("text"));
  round_trip(std::variant<int32_t, std::string, std::monostate>(std::monostate{}));
  round_trip(Point{1, -1});
  round_trip(Padded{1, 2});
  round_trip(Order{"ann", {{1, 2}, {3, 4}}, 0.5, true});
  round_trip(Tree{1, {{2, {}}, {3, {{4, {}}}}}});
  CHECK(from_bytes<Cached>(to_bytes(Cached{Account("Ada", 100), 7})).cache == 0);
  CHECK(from_bytes<Premium>(to_bytes(Premium{Account("Ada", 100), 7})).bonus == 7);
  round_trip(Account("bo", 250));
}

TEST_CASE("plain structs are copied as memory and padding never travels", "[serde]") {
  STATIC_REQUIRE(core::kPlainMemory<Point>);
  STATIC_REQUIRE(core::kPlainMemory<std::array<Point, 3>>);
  STATIC_REQUIRE_FALSE(core::kPlainMemory<Padded>);
  STATIC_REQUIRE_FALSE(core::kPlainMemory<bool>);
  CHECK(to_bytes(Point{1, 2}).size() == 8);
  CHECK(to_bytes(Padded{1, 2}).size() == 9);
  CHECK(to_bytes(std::string("abc")).size() == 4);
}

TEST_CASE("lengths beyond the bytes are refused before memory is taken", "[serde]") {
  Bytes huge;
  Encoder(huge).varint(uint64_t{1} << 60);
  CHECK_THROWS_AS(from_bytes<std::string>(huge), DecodeError);
  CHECK_THROWS_AS(from_bytes<std::vector<int64_t>>(huge), DecodeError);
  CHECK_THROWS_AS(from_bytes<std::vector<std::string>>(huge), DecodeError);
  struct Empty {};
  CHECK_THROWS_AS(from_bytes<std::vector<Empty>>(huge), DecodeError);
  CHECK_THROWS_AS(from_bytes<std::string>(Bytes(11, '\xff')), DecodeError);
}

TEST_CASE("a value nested deeper than the limit is refused", "[serde]") {
  Bytes deep;
  for (int i = 0; i < 100000; ++i) deep += std::string("\0\0\0\0\1", 5);
  CHECK_THROWS_AS(from_bytes<Tree>(deep), DecodeError);
}

TEST_CASE("random bytes give a value or an error, never more", "[serde]") {
  std::mt19937 random(7);
  int decoded = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    Bytes bytes(random() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 4 == 0 ? random() : random() % 4);
    try {
      (void)from_bytes<Order>(bytes);
      (void)from_bytes<std::map<std::string, std::vector<Point>>>(bytes);
      ++decoded;
    } catch (const DecodeError&) {
      ++refused;
    }
  }
  CHECK(decoded + refused == 20000);
  CHECK(refused > 10000);
}

TEST_CASE("owned_t replaces views by text, also inside pairs, tuples and vectors", "[serde]") {
  STATIC_REQUIRE(std::is_same_v<owned_t<std::string_view>, std::string>);
  STATIC_REQUIRE(
      std::is_same_v<owned_t<std::pair<std::string_view, int>>, std::pair<std::string, int>>);
  STATIC_REQUIRE(std::is_same_v<owned_t<std::vector<std::pair<int, std::string_view>>>,
                                std::vector<std::pair<int, std::string>>>);
  STATIC_REQUIRE(std::is_same_v<owned_t<int>, int>);
  std::string buffer = "hello";
  auto kept = core::own<std::pair<std::string_view, int>>({buffer, 1});
  buffer = "HELLO";
  CHECK(kept == std::pair<std::string, int>("hello", 1));
  auto view = core::borrow<std::pair<std::string_view, int>>(kept);
  CHECK(view.first.data() == kept.first.data());
}

TEST_CASE("closures travel with their captured values", "[serde]") {
  auto add = capture(40, std::string("x"),
                     [](int n, const std::string& s, int m) { return s + std::to_string(n + m); });
  Bytes bytes;
  Encoder out(bytes);
  core::ClosureCodec<decltype(add)>::encode(out, add);
  Decoder in(bytes);
  CHECK(core::ClosureCodec<decltype(add)>::decode(in)(2) == "x42");
  auto bare = [](int a) { return a + 1; };
  Bytes none;
  Encoder empty(none);
  core::ClosureCodec<decltype(bare)>::encode(empty, bare);
  CHECK(none.empty());
}
