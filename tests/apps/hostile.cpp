// A hostile client: speaks ZMTP by hand, so that it can send what no library would, and sends it to
// the ports it is told: MODE SEED ROUNDS KIND:PORT…, kinds master, worker, driver, blocks, page.
// Ends with 1 when a peer that broke the rules was not dropped, or a file was handed out that
// nobody offered. Modes:
//   garbage  what is never right, and right messages about things that do not exist
//   half     connections that never get as far as a message
//   flood    questions by the hundred thousand whose answers are never read
//   lies     right messages that only authentication could refuse: APPLICATION, WORKER and
//   MASTER_URL follow the ports

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/api/tinderbox.hpp"
#include "net/wire/codec.hpp"
#include "net/wire/fields.hpp"
#include "tests/apps/shared/zmtp_client.hpp"

namespace {

using namespace tinderbox;
using namespace tinderbox::zmtp;

std::mt19937_64 random_source;
uint64_t below(uint64_t n) { return random_source() % n; }
Bytes random_bytes(size_t n) {
  Bytes out(n, '\0');
  for (char& c : out) c = static_cast<char>(random_source());
  return out;
}

// ---- messages of every kind, filled at random ----------------------------------------

Bytes odd_text() {
  static const Bytes all[] = {"",
                              "0",
                              "1",
                              "app-20200101000000-0000",
                              "worker-20200101000000-127.0.0.1-1",
                              "driver-20200101000000-0000",
                              "../../etc/passwd",
                              "/etc/passwd",
                              "a/b",
                              ".",
                              "..",
                              "127.0.0.1:1",
                              "spark://127.0.0.1:1",
                              "rdd_0_0",
                              "shuffle_0_0_0",
                              "shuffle_0_0_0_99999",
                              "broadcast_0_piece0",
                              "taskresult_0",
                              "{{EXECUTOR_ID}}",
                              "%s%n%d",
                              "\n\r\x1b[2J"};
  const uint64_t n = below(std::size(all) + 2);
  return n < std::size(all) ? all[n] : random_bytes(below(n == std::size(all) ? 40 : 2000));
}
int64_t odd_number() {
  static const int64_t all[] = {0,         1,         -1,        2,         7,        1000,
                                INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1LL << 40};
  return all[below(std::size(all))];
}

template <class T>
void fill(T& v) {
  if constexpr (std::is_same_v<T, bool>)
    v = below(2);
  else if constexpr (std::is_enum_v<T>)
    v = static_cast<T>(below(16));
  else if constexpr (std::is_arithmetic_v<T>)
    v = static_cast<T>(odd_number());
  else if constexpr (std::is_same_v<T, std::string>)
    v = odd_text();
  else if constexpr (std::is_same_v<T, Payload>)
    v = Payload(random_bytes(below(1500)));
  else if constexpr (net::kIsOptional<T>) {
    if (below(2)) fill(v.emplace());
  } else if constexpr (net::kIsVector<T>) {
    v.resize(below(4));
    for (auto& x : v) fill(x);
  } else if constexpr (net::kIsMap<T>) {
    for (uint64_t n = below(3); n > 0; --n) {
      typename T::key_type key;
      fill(key);
      fill(v[key]);
    }
  } else {
    net::with_fields(v, [](auto&... field) { (fill(field), ...); });
  }
}

/// What a stranger may well say with success is left to `lies`.
bool is_lie(const ToWorker& m) { return std::holds_alternative<MasterChanged>(m); }
bool is_lie(const ToApp& m) { return std::holds_alternative<MasterChanged>(m); }
bool is_lie(const ToMaster& m) { return std::holds_alternative<RequestSubmitDriver>(m); }
template <class V>
bool is_lie(const V&) {
  return false;
}

template <class T, class Variant, size_t I = 0>
constexpr int tag_of() {
  if constexpr (std::is_same_v<T, std::variant_alternative_t<I, Variant>>)
    return I;
  else
    return tag_of<T, Variant, I + 1>();
}

template <class Variant, size_t I = 0>
Variant make(size_t index) {
  if constexpr (I < std::variant_size_v<Variant>) {
    if (index != I) return make<Variant, I + 1>(index);
    Variant v;
    fill(v.template emplace<I>());
    return v;
  } else {
    return {};
  }
}

Frames frames_of(const net::Packet& p) {
  Frames out;
  out.push_back({'T', 'B', 1, static_cast<char>(p.conversation), static_cast<char>(p.tag),
                 static_cast<char>(p.tag >> 8), 0, 0});
  out.emplace_back(p.body.view());
  for (const Payload& f : p.frames) out.emplace_back(f.view());
  return out;
}

template <class Variant>
Frames random_message() {
  for (;;) {
    Variant v = make<Variant>(below(std::variant_size_v<Variant>));
    if (!is_lie(v)) return frames_of(net::encode(v));
  }
}

using Maker = Frames (*)();
/// What a port understands: the first is the one that certain faults are shown with.
std::vector<Maker> spoken(const std::string& kind) {
  if (kind == "master") return {random_message<ToMaster>};
  if (kind == "worker") return {random_message<ToWorker>};
  if (kind == "driver") return {random_message<ToDriver>, random_message<ToApp>};
  return {random_message<ToBlocks>};
}
Frames any_message(const std::string& kind) {
  static const Maker all[] = {random_message<ToMaster>, random_message<ToWorker>,
                              random_message<ToApp>,    random_message<ToClient>,
                              random_message<ToDriver>, random_message<ToExecutor>,
                              random_message<ToBlocks>, random_message<FromBlocks>};
  const std::vector<Maker> known = spoken(kind);
  return below(4) ? known[below(known.size())]() : all[below(std::size(all))]();
}

void mutate(Frames& frames) {
  Bytes& f = frames[below(frames.size())];
  switch (below(5)) {
    case 0:
      f.resize(below(f.size() + 1));
      break;
    case 1:
      f += random_bytes(1 + below(20));
      break;
    case 2:
      if (!f.empty()) f[below(f.size())] = static_cast<char>(random_source());
      break;
    case 3:
      f.insert(below(f.size() + 1), random_bytes(1 + below(8)));
      break;
    default:
      frames.insert(frames.begin() + static_cast<long>(below(frames.size() + 1)),
                    random_bytes(below(300)));
  }
}
/// A changed message may be a lie by chance: then it is not sent.
bool may_be_lie(const Frames& f) {
  if (f.size() < 2 || f[0].size() != 8) return false;
  const int conversation = f[0][3], tag = static_cast<uint8_t>(f[0][4]);
  return (conversation == int(net::Conversation::ToWorker) &&
          tag == tag_of<MasterChanged, ToWorker>()) ||
         (conversation == int(net::Conversation::ToApp) && tag == tag_of<MasterChanged, ToApp>()) ||
         (conversation == int(net::Conversation::ToMaster) &&
          tag == tag_of<RequestSubmitDriver, ToMaster>());
}

// ---- what must end with a dropped peer -----------------------------------------------

struct Fault {
  const char* name;
  std::function<void(Connection&, const Port&)> commit;
};

Frames with(const Port& port, const std::function<void(Frames&)>& change) {
  Frames f = spoken(port.kind)[0]();
  f.resize(2);
  change(f);
  return f;
}
/// A message whose body is `body`, with a tag whose message has fields to be wrong in.
Frames with_body(const Port& port, Bytes body) {
  return with(port, [&](Frames& f) { f[0][4] = f[0][5] = 0, f[1] = std::move(body); });
}
Bytes repeat(const Bytes& s, size_t n) {
  Bytes out;
  out.reserve(n * s.size());
  while (n-- > 0) out += s;
  return out;
}

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all = {
      {"random frames",
       [](Connection& c, const Port&) {
         c.send(Frames{random_bytes(8), random_bytes(100)});
       }},
      {"one frame", [](Connection& c, const Port&) { c.send(Frames{"TB"}); }},
      {"wrong magic",
       [](Connection& c, const Port& p) { c.send(with(p, [](Frames& f) { f[0][0] = 'X'; })); }},
      {"wrong version",
       [](Connection& c, const Port& p) { c.send(with(p, [](Frames& f) { f[0][2] = 99; })); }},
      {"unknown conversation",
       [](Connection& c, const Port& p) { c.send(with(p, [](Frames& f) { f[0][3] = 77; })); }},
      {"unknown tag",
       [](Connection& c, const Port& p) { c.send(with(p, [](Frames& f) { f[0][5] = 7; })); }},
      {"no body", [](Connection& c, const Port& p) { c.send(with_body(p, "")); }},
      {"a cut body", [](Connection& c, const Port& p) { c.send(with_body(p, "\x9a\xc4\x20ten")); }},
      {"a map where a list belongs",
       [](Connection& c, const Port& p) { c.send(with_body(p, "\x81\x01\x02")); }},
      {"4 billion items",
       [](Connection& c, const Port& p) { c.send(with_body(p, "\xdd\xff\xff\xff\xff")); }},
      {"4 billion items in each of many lists",
       [](Connection& c, const Port& p) {
         c.send(with_body(p, repeat("\xdd\xff\xff\xff\xff", 10000)));
       }},
      {"deep nesting",
       [](Connection& c, const Port& p) { c.send(with_body(p, repeat("\x91", 1 << 20))); }},
      {"nested lists of 65535",
       [](Connection& c, const Port& p) { c.send(with_body(p, repeat("\xdc\xff\xff", 25000))); }},
      {"a million empty texts in a number's place",
       [](Connection& c, const Port& p) {
         c.send(
             with_body(p, "\xdd" + big_endian(1 << 20, 4) + repeat(Bytes("\xc4\0", 2), 1 << 20)));
       }},
      {"four million empty records",
       [](Connection& c, const Port& p) {
         const uint32_t n = (4u << 20) - 10;
         Frames f = with_body(p, "\x91\xdd" + big_endian(n, 4) + repeat("\x90", n));
         if (p.kind == "driver") f[0][4] = static_cast<char>(tag_of<StatusUpdates, ToDriver>());
         c.send(f);
       }},
      {"a payload that is not there",
       [](Connection& c, const Port& p) {
         Frames f = with_body(p, p.kind == "driver" ? "\x91\x91\x93\x01\x01\xcd\xff\xff"
                                                    : "\x93\x01\x01\xcd\xff\xff");
         if (p.kind == "driver") f[0][4] = static_cast<char>(tag_of<StatusUpdates, ToDriver>());
         c.send(f);
       }},
      {"a body over the limit",
       [](Connection& c, const Port&) {
         c.send(zmtp_frame(Bytes("TB\1\1\0\0\0\0", 8), 1) + zmtp_frame("x", 0, uint64_t{1} << 40));
       }},
      {"seventy thousand frames",
       [](Connection& c, const Port&) { c.send(Frames(70000, Bytes("TB\1\1\0\0\0\0", 8))); }},
      {"many faults at once",
       [](Connection& c, const Port& p) {
         Bytes all;
         for (int i = 0; i < 2000; ++i) all += zmtp_message(with_body(p, "\xc1"));
         c.send(all);
       }},
      {"an unknown kind of socket",
       [](Connection& c, const Port&) { c.send(greeting() + ready("BOGUS", "")); }},
      {"a cut READY",
       [](Connection& c, const Port&) { c.send(greeting() + zmtp_frame("\x05READY\x0bSock", 4)); }},
      {"a mechanism that is not spoken",
       [](Connection& c, const Port&) {
         Bytes g = greeting();
         g.replace(12, 5, "PLAIN");
         c.send(g + ready("DEALER", ""));
       }},
  };
  return all;
}

bool raw_handshake(const std::string& name) {
  return name == "an unknown kind of socket" || name == "a cut READY" ||
         name == "a mechanism that is not spoken";
}

int commit_all_faults(const Port& port) {
  int bad = 0;
  for (const Fault& fault : faults()) {
    Connection c(port);
    if (!raw_handshake(fault.name)) c.handshake();
    fault.commit(c, port);
    if (c.ends()) continue;
    std::printf("NOT DROPPED: %s port %d: %s\n", port.kind.c_str(), port.number, fault.name);
    ++bad;
  }
  return bad;
}

// ---- blocks --------------------------------------------------------------------------

int ask_for_files(const Port& port) {
  int bad = 0;
  uint64_t stream = 1;
  for (const char* path :
       {"file/../../../../etc/passwd", "file//etc/passwd", "/etc/passwd", "file/etc/passwd",
        "file/./application/../../../../etc/passwd", "../../etc/passwd", "file/..", "file/",
        "rdd_0_0/../../../etc/passwd", "shuffle_0_0_0/../../etc/passwd"}) {
    Connection c(port);
    OpenBlocks wish{.wishes = {{stream++, path}}, .credit = INT64_MAX};
    c.handshake().send(frames_of(net::encode(ToBlocks(wish))));
    // A refusal names no content; a sign of life follows, so that silence is not taken for one.
    const bool answered = c.hears(Bytes("TB\1\x08\1", 5)) || c.ends();
    if (answered && c.heard().find("root:") == Bytes::npos) continue;
    std::printf("NOT REFUSED: port %d: block %s\n", port.number, path);
    ++bad;
  }
  Connection c(port);
  c.handshake();
  for (int64_t odd : {INT64_MIN, int64_t{-1}, INT64_MAX, int64_t{1} << 40})
    for (OpenBlocks open :
         {OpenBlocks{.wishes = {{0, "file/application", odd}}},
          OpenBlocks{.wishes = {{0, "file/application", 1, odd}}},
          OpenBlocks{.wishes = {{0, "file/application", 0, 10}}, .chunk = odd},
          OpenBlocks{.wishes = {{0, "file/application", 0, 10}}, .credit = odd},
          OpenBlocks{.wishes = std::vector(1000, WishedBlock{0, "file/application", odd, odd})}}) {
      for (WishedBlock& wish : open.wishes) wish.stream = stream++;
      c.send(frames_of(net::encode(ToBlocks(open))));
      c.send(frames_of(net::encode(ToBlocks(GrantCredit{stream - 1, odd}))));
    }
  return bad;
}

/// A worker that boasts, for an application that wants all: the master still answers.
int boast(const Port& port) {
  Connection c(port);
  c.handshake();
  RegisterApplication app{.description = {.name = "greedy", .memory_per_executor_mib = 0}};
  c.send(frames_of(net::encode(ToMaster(app))));
  for (int32_t cores : {INT32_MAX, INT32_MIN, -1, 1 << 14}) {
    RegisterWorker boaster{.id = {"boaster-" + std::to_string(cores)},
                           .host = "boast",
                           .port = cores,
                           .cores = cores,
                           .memory_mib = INT64_MAX};
    c.send(frames_of(net::encode(ToMaster(boaster))));
  }
  c.send(frames_of(net::encode(ToMaster(RequestDriverStatus{{"driver-1"}}))));
  if (c.hears(Bytes("TB\1\4\2", 5))) return 0;
  std::printf("NOT ANSWERED: master port %d after a worker that boasts\n", port.number);
  return 1;
}

// ---- modes ---------------------------------------------------------------------------

void plain_tcp(const Port& port, std::vector<std::unique_ptr<Connection>>& open) {
  static const Bytes starts[] = {"",
                                 "\xff",
                                 greeting().substr(0, 11),
                                 greeting(),
                                 greeting() + ready("DEALER", "me"),
                                 "GET / HTTP/1.1\r\n",
                                 "GET /../../etc/passwd HTTP/1.0\r\n\r\n",
                                 "POST /json HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
                                 "GET /" + Bytes(70000, 'a') + " HTTP/1.1\r\n\r\n",
                                 "GET / HTTP/1.1\r\n" + repeat("a: b\r\n", 20000),
                                 "\x01\x00"};
  auto c = std::make_unique<Connection>(port);
  c->send(starts[below(std::size(starts))] + (below(2) ? random_bytes(below(4000)) : Bytes()));
  if (below(8) == 0 && open.size() < 300) open.push_back(std::move(c));
}

/// A run of messages on one connection until the peer ends it.
size_t random_messages(const Port& port) {
  Connection c(port);
  c.handshake(below(8) ? "DEALER" : "REQ", below(4) ? Bytes() : random_bytes(below(300)));
  size_t sent = 0;
  for (uint64_t n = 1 + below(30); n > 0; --n) {
    Frames f = any_message(port.kind);
    if (below(3) == 0) mutate(f);
    if (may_be_lie(f)) continue;
    if (!c.send(f)) break;
    ++sent;
  }
  return sent;
}

int garbage(const std::vector<Port>& ports, int rounds) {
  int bad = 0;
  size_t connections = 0, messages = 0;
  std::vector<std::unique_ptr<Connection>> open;  // half open until the end
  for (const Port& port : ports) {
    if (port.kind != "page") bad += commit_all_faults(port);
    if (port.kind == "blocks") bad += ask_for_files(port);
    if (port.kind == "master") bad += boast(port);
  }
  for (int i = 0; i < rounds; ++i)
    for (const Port& port : ports) {
      ++connections;
      if (port.kind == "page" || below(3) == 0)
        plain_tcp(port, open);
      else
        messages += random_messages(port);
    }
  std::printf("%zu connections, %zu messages, %zu left half open\n", connections, messages,
              open.size());
  return bad;
}

int half(const std::vector<Port>& ports) {
  struct Silent {
    Port port;
    size_t bytes;  // of what it should say
    std::unique_ptr<Connection> connection;
  };
  const Bytes first = greeting() + ready("DEALER", "");
  std::vector<Silent> all;
  for (const Port& port : ports)
    for (const size_t bytes : {size_t{0}, size_t{11}, greeting().size(), first.size() - 1}) {
      all.push_back({port, bytes, std::make_unique<Connection>(port)});
      all.back().connection->send(first.substr(0, bytes));
    }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  int bad = 0;
  for (Silent& s : all) {
    if (s.connection->ends(std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now())))
      continue;
    std::printf("NOT DROPPED: %s port %d after %zu bytes\n", s.port.kind.c_str(), s.port.number,
                s.bytes);
    ++bad;
  }
  std::printf("%zu connections that said too little ended\n", all.size() - bad);
  return bad > 0 ? 1 : 0;
}

Frames question(const std::string& kind) {
  if (kind == "master") return frames_of(net::encode(ToMaster(RequestDriverStatus{{"driver-1"}})));
  if (kind == "driver") return frames_of(net::encode(ToDriver(ExecutorHeartbeat{{"9"}})));
  if (kind == "worker") return frames_of(net::encode(ToWorker(KillDriver{{"driver-1"}})));
  return frames_of(net::encode(ToBlocks(OpenBlocks{.wishes = {{1, "rdd_9_9"}}})));
}

int flood(const std::vector<Port>& ports, int rounds) {
  for (const Port& port : ports) {
    if (port.kind == "page") continue;
    Connection c(port);
    c.handshake();
    const Bytes thousand = repeat(zmtp_message(question(port.kind)), 1000);
    int sent = 0;
    while (sent < rounds && c.send(thousand, false)) ++sent;
    std::printf("%s port %d: %d000 questions went out unread\n", port.kind.c_str(), port.number,
                sent);
  }
  return 0;
}

int lies(const std::vector<Port>& ports, const std::string& app, const std::string& worker,
         const std::string& url) {
  for (const Port& port : ports) {
    if (port.kind == "page" || port.kind == "blocks") continue;
    Connection c(port);
    c.handshake();
    std::vector<net::Packet> all;
    if (port.kind == "master") {
      RegisterWorker twin{
          .id = {worker}, .host = "127.0.0.1", .port = 1, .cores = 1000, .memory_mib = 1 << 20};
      all = {
          net::encode(ToMaster(WorkerHeartbeat{{worker}})),
          net::encode(
              ToMaster(ExecutorStateChanged{1, {app}, 0, ExecutorState::Failed, "a lie", 1})),
          net::encode(ToMaster(KillExecutors{1, {app}, {"0", "1", "x", "99999999999999999999"}})),
          net::encode(ToMaster(RequestExecutors{1, {app}, -1})),
          net::encode(ToMaster(RequestExecutors{1, {app}, INT32_MAX})),
          net::encode(ToMaster(UnregisterApplication{{app}})),
          net::encode(ToMaster(WorkerLatestState{{worker}, {}, {}})),
          net::encode(ToMaster(twin))};
    } else if (port.kind == "worker") {
      all = {net::encode(ToWorker(KillExecutor{url, {app}, 0})),
             net::encode(ToWorker(ApplicationFinished{{app}})),
             net::encode(ToWorker(ReconnectWorker{url})),
             net::encode(ToWorker(MasterChanged{url, "http://x"}))};
    } else {
      all = {net::encode(ToDriver(ExecutorExiting{{"0"}, 1, "a lie"})),
             net::encode(ToApp(ApplicationRemoved{"a lie"})),
             net::encode(ToApp(MasterChanged{url, "http://x"}))};
    }
    for (const net::Packet& p : all) c.send(frames_of(p));
    c.ends(std::chrono::milliseconds(500));  // a while for them to be read
  }
  return 0;
}

int run(Context&, std::span<const std::string> args) {
  if (args.size() < 4) throw std::runtime_error("give MODE SEED ROUNDS KIND:PORT…");
  const std::string& mode = args[0];
  random_source.seed(std::stoull(args[1]));
  const int rounds = std::stoi(args[2]);
  std::vector<Port> ports;
  std::vector<std::string> rest;
  for (const std::string& a : args.subspan(3)) {
    const size_t colon = a.find(':');
    const bool is_port = colon != std::string::npos && a.compare(colon, 3, "://") != 0;
    if (is_port)
      ports.push_back({a.substr(0, colon), std::stoi(a.substr(colon + 1))});
    else
      rest.push_back(a);
  }
  if (mode == "garbage") return garbage(ports, rounds) ? 1 : 0;
  if (mode == "half") return half(ports);
  if (mode == "flood") return flood(ports, rounds);
  if (mode == "lies" && rest.size() == 3) return lies(ports, rest[0], rest[1], rest[2]);
  throw std::runtime_error("unknown mode " + mode);
}

TINDERBOX_APPLICATION(hostile, "send nonsense to the ports of a cluster", run);

}  // namespace
