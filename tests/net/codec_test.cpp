// Every message survives the wire; older and newer peers are understood; hostile bytes cost little.
#include <catch2/catch.hpp>

#include <random>
#include <string_view>

#include "net/wire/codec.hpp"
#include "net/wire/fields.hpp"

using namespace tinderbox;
using net::Packet;
using namespace std::string_literals;

namespace {

/// Fills the first `most` fields of each struct with something that is not their default.
struct Filler {
  size_t most = 20;
  int n = 1;
  void fill(bool& v) { v = true; }
  void fill(std::string& v) { v = "text" + std::to_string(n++); }
  void fill(Payload& v) { v = Payload(Bytes(++n % 2 ? 3 : 600, 'p')); }
  template <class T>
  void fill(std::optional<T>& v) {
    fill(v.emplace());
  }
  template <class T>
  void fill(HeapOptional<T>& v) {
    fill(v.emplace());
  }
  template <class T>
  void fill(std::vector<T>& v) {
    v.resize(2);
    for (auto& x : v) fill(x);
  }
  template <class K, class V>
  void fill(std::map<K, V>& m) {
    K k{};
    fill(k);
    fill(m[k]);
  }
  template <class T>
  void fill(T& v) {
    if constexpr (std::is_enum_v<T>)
      v = static_cast<T>(1);
    else if constexpr (std::is_arithmetic_v<T>)
      v = static_cast<T>(n++ % 3 == 0 ? -n : n * 1000);
    else
      net::with_fields(v, [&, left = most](auto&... f) mutable {
        ((left > 0 ? (--left, fill(f)) : void()), ...);
      });
  }
};

template <class Variant, size_t I = 0>
void round_trip_all(size_t fields) {
  if constexpr (I < std::variant_size_v<Variant>) {
    Variant in(std::in_place_index<I>);
    Filler{fields}.fill(std::get<I>(in));
    auto out = net::decode<Variant>(net::encode(in));
    INFO("alternative " << I << ", the first " << fields << " fields");
    REQUIRE(out);
    CHECK(*out == in);
    auto record = net::decode_bytes<Variant>(net::encode_bytes(in));
    REQUIRE(record);
    CHECK(*record == in);
    round_trip_all<Variant, I + 1>(fields);
  }
}

Packet with_body(Packet like, Bytes body) {
  like.body = Payload(std::move(body));
  return like;
}

/// Whether the compiler has a name for the value: it shows others as casts.
template <auto kValue>
consteval bool has_name() {
  const std::string_view here = __PRETTY_FUNCTION__;
  const size_t value = here.rfind("kValue = ") + std::string_view("kValue = ").size();
  return here[value] != '(';
}
/// `message_with` makes a message that holds the value.
template <class E, class MessageWith>
void check_enum(MessageWith message_with) {
  constexpr E last = last_value(E{});
  static_assert(has_name<last>() && !has_name<static_cast<E>(static_cast<int>(last) + 1)>(),
                "last_value() is not the last");
  for (int v = 0; v <= UINT8_MAX; ++v) {
    const auto message = message_with(static_cast<E>(v));
    const auto got = net::decode<std::remove_const_t<decltype(message)>>(net::encode(message));
    INFO(__PRETTY_FUNCTION__ << ", value " << v);
    REQUIRE(bool(got) == (v <= static_cast<int>(last)));
    if (got) CHECK(*got == message);
  }
}

}  // namespace

TEST_CASE("every message of every conversation round-trips, whichever fields have their defaults") {
  for (size_t fields = 0; fields <= 20; ++fields) {
    round_trip_all<ToMaster>(fields);
    round_trip_all<ToWorker>(fields);
    round_trip_all<ToApp>(fields);
    round_trip_all<ToClient>(fields);
    round_trip_all<ToDriver>(fields);
    round_trip_all<ToExecutor>(fields);
    round_trip_all<ToBlocks>(fields);
    round_trip_all<FromBlocks>(fields);
  }
}

TEST_CASE("the last fields of a message that have their defaults are not sent") {
  const auto body = [](const TaskUpdate& update) {
    return Bytes(net::encode(ToDriver(StatusUpdates{{update}})).body.view());
  };
  TaskUpdate update;
  update.state = TaskState::Launching;  // number 0 is no default here
  CHECK(body(update) == "\x91\x91\x92\xff\0"s);
  update = {};
  CHECK(body(update) == "\x91\x91\x90"s);
  update.id = {7};
  update.result_size = 3;
  CHECK(body(update) == "\x91\x91\x95\x07\x01\xc4\0\xc4\0\x03"s);
}

TEST_CASE("large payloads travel as frames of their own and are not copied") {
  Payload big(Bytes(1 << 20, 'x'));
  Packet p = net::encode(FromBlocks(BlockChunks{{{7, 0, 1 << 20, 1, big}}}));
  REQUIRE(p.frames.size() == 1);
  CHECK(p.frames[0].view().data() == big.view().data());
  auto out = net::decode<FromBlocks>(p);
  REQUIRE(out);
  CHECK(std::get<BlockChunks>(*out).chunks[0].bytes.view().data() == big.view().data());
}

TEST_CASE("small payloads travel in the body, until it is large") {
  BlockChunks chunks;
  for (const size_t count : {20, 300}) {
    while (chunks.chunks.size() < count)
      chunks.chunks.push_back({chunks.chunks.size(), 0, 8192, 1, Payload(Bytes(8192, 'x'))});
    const Packet p = net::encode(FromBlocks(chunks));
    CHECK(p.frames.empty() == (count == 20));
    CHECK(p.body.size() < (256 << 10) + 2 * 8192);
    auto out = net::decode<FromBlocks>(p);
    REQUIRE(out);
    CHECK(std::get<BlockChunks>(*out) == chunks);
  }
}

TEST_CASE("an older peer's shorter message keeps the defaults, a newer peer's longer one is cut") {
  Packet p = net::encode(ToMaster(WorkerHeartbeat{{"w"}}));
  auto shorter = net::decode<ToMaster>(with_body(p, std::string("\x90", 1)));
  REQUIRE(shorter);
  CHECK(std::get<WorkerHeartbeat>(*shorter).id.value.empty());
  auto longer = net::decode<ToMaster>(with_body(p, "\x93\xc4\x01w\x92\x01\x02\xc0"));
  REQUIRE(longer);
  CHECK(std::get<WorkerHeartbeat>(*longer).id.value == "w");
}

TEST_CASE("what is not such a message is refused") {
  Packet p = net::encode(ToMaster(WorkerHeartbeat{{"w"}}));
  struct Case {
    const char* name;
    Bytes body;
  };
  const Case cases[] = {
      {"empty", ""},
      {"another type", "\x91\x05"},
      {"truncated", "\x91\xc4\x05w"},
      {"trailing bytes", "\x91\xc4\x01w\x01"},
      {"an array that claims four billion items", std::string("\xdd\xff\xff\xff\xff", 5)},
      {"a string that claims four billion bytes", std::string("\x91\xc6\xff\xff\xff\xff", 6)},
      {"too deep", std::string(100'000, '\x91') + "\x01"},
      {"a map", "\x81\x01\x02"},
      {"an extension", std::string("\x91\xd4\x01\x00", 4)},
      {"many nils",
       "\x91\xdd" + std::string("\x00\x4f\xff\xff", 4) + std::string(0x4fffff, '\xc0')},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    CHECK_FALSE(net::decode<ToMaster>(with_body(p, c.body)));
  }
  p.tag = 999;
  CHECK_FALSE(net::decode<ToMaster>(p));
  CHECK_FALSE(net::decode<ToWorker>(p));
}

TEST_CASE("an answer about a million map outputs is understood") {
  MapOutputs all;
  all.statuses.assign(1'000'000, MapStatus{{{"12"}, "host", "host:40001"}, 77, Bytes(2, 'x'), 5});
  const auto got = net::decode<ToExecutor>(net::encode(ToExecutor(all)));
  REQUIRE(got);
  CHECK(std::get<MapOutputs>(*got).statuses.size() == all.statuses.size());
  CHECK(std::get<MapOutputs>(*got).statuses.back() == all.statuses.back());
}

TEST_CASE("a value that its enum doesn't have is refused, wherever it stands") {
  check_enum<ExecutorState>([](auto s) { return ToMaster(ExecutorStateChanged{1, {"a"}, 2, s}); });
  check_enum<ExecutorState>([](auto s) {
    return ToMaster(WorkerSchedulerState{{"w"}, {{{"a"}, 0, 0, 1, 1, s}}});
  });
  check_enum<ExecutorState>([](auto s) {
    return ToMaster(WorkerLatestState{{"w"}, {{{"a"}, 0, 0, 1, 1, s}}});
  });
  check_enum<ExecutorState>([](auto s) { return ToApp(ExecutorUpdated{1, s}); });
  check_enum<DriverState>([](auto s) { return ToMaster(DriverStateChanged{{"d"}, s}); });
  check_enum<DriverState>([](auto s) { return ToClient(DriverStatusAnswer{true, s}); });
  check_enum<TaskState>([](auto s) { return ToDriver(StatusUpdates{{{{7}, s}}}); });
  check_enum<TaskEndKind>([](auto kind) {
    TaskUpdate failed{{7}, TaskState::Failed};
    failed.reason = TaskEndReason{kind};
    return ToDriver(StatusUpdates{{failed}});
  });
}

TEST_CASE("an enum's value is a small number that isn't negative") {
  const Packet p = net::encode(ToMaster(DriverStateChanged{}));
  struct Case {
    const char* name;
    Bytes value;
    bool understood;
  };
  const Case cases[] = {
      {"the first", "\x00"s, true},
      {"the last", "\x07"s, true},
      {"beyond it", "\x08"s, false},
      {"257, 1 in its low byte", "\xcd\x01\x01"s, false},
      {"65,537", "\xce\x00\x01\x00\x01"s, false},
      {"the largest", "\xcf\xff\xff\xff\xff\xff\xff\xff\xff"s, false},
      {"-1", "\xff"s, false},
      {"-255, 1 in its low byte", "\xd1\xff\x01"s, false},
      {"nothing", "\xc0"s, false},
      {"true", "\xc3"s, false},
      {"a text", "\xc4\x01\x01"s, false},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    const auto got = net::decode<ToMaster>(with_body(p,
                                                     "\x92\xc4\x01"
                                                     "d" +
                                                         c.value));
    CHECK(bool(got) == c.understood);
    if (!got) CHECK(got.error().message.find("not valid") != std::string::npos);
  }
}

TEST_CASE("values on the heap count as memory of their message") {
  constexpr int kUpdates = 150'000;
  const auto decoded = [](const Bytes& update) {
    Bytes body("\x91\xdd\x00\x02\x49\xf0", 6);
    for (int i = 0; i < kUpdates; ++i) body += update;
    return net::decode<ToDriver>(with_body(net::encode(ToDriver(StatusUpdates{})), body));
  };
  const auto without = decoded("\x97\x01\x01\xc4\0\xc4\0\0\xc0\xc0"s);
  REQUIRE(without);
  CHECK(std::get<StatusUpdates>(*without).tasks.size() == kUpdates);
  CHECK_FALSE(decoded("\x97\x01\x01\xc4\0\xc4\0\0\x90\x90"s));
}

TEST_CASE("a payload that names a frame which is not there is refused") {
  Packet p = net::encode(FromBlocks(BlockChunks{{{7, 0, 9, 1, Payload(Bytes(10000, 'x'))}}}));
  p.frames.clear();
  CHECK_FALSE(net::decode<FromBlocks>(p));
}

TEST_CASE("random and mutated bytes never crash the decoder") {
  unsigned seed = Catch::rngSeed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  ToDriver update = StatusUpdates{};
  Filler().fill(std::get<StatusUpdates>(update));
  Packet good = net::encode(update);
  size_t understood = 0;
  for (int i = 0; i < 20'000; ++i) {
    Bytes body(good.body.view());
    for (int flips = static_cast<int>(random() % 4); flips >= 0; --flips)
      body[random() % body.size()] = static_cast<char>(random());
    if (random() % 4 == 0) body.resize(random() % body.size());
    understood += bool(net::decode<ToDriver>(with_body(good, body)));
  }
  CHECK(understood < 20'000);
}

TEST_CASE("a small payload that is kept leaves the message that it came in", "[codec]") {
  FromBlocks in = BlockChunks{{{.bytes = Payload(Bytes(4096, 'a'))},
                               {.bytes = Payload(Bytes(4096, 'b'))},
                               {.bytes = Payload(Bytes(9000, 'c'))}}};
  auto out = net::decode<FromBlocks>(net::encode(in));
  REQUIRE(out);
  const auto& chunks = std::get<BlockChunks>(*out).chunks;
  CHECK(chunks[0].bytes.shared());  // with the other one
  const Payload a = net::to_keep(chunks[0].bytes), c = net::to_keep(chunks[2].bytes);
  CHECK_FALSE(a.shared());
  CHECK(a == chunks[0].bytes);
  CHECK(c.view().data() == chunks[2].bytes.view().data());  // a frame of its own: not copied
}
