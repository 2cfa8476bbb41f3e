// One contract of endpoints, run over real sockets and in memory.
#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <set>

#include "net/transport/endpoint.hpp"
#include "net/wire/codec.hpp"

using namespace tinderbox;
using namespace std::chrono_literals;

namespace {

/// Runs `loop` until `done` says so; fails the test after a generous limit.
template <class F>
void run_until(net::PollLoop& loop, F done) {
  bool timed_out = false;
  const Time limit = loop.now() + 20s;
  auto poll = std::make_shared<std::function<void()>>();
  *poll = [&, p = std::weak_ptr(poll)] {
    timed_out = loop.now() > limit;
    if (done() || timed_out) return loop.stop();
    loop.after(1ms, *p.lock());
  };
  loop.post(*poll);
  loop.run();
  REQUIRE_FALSE(timed_out);
}

net::Packet packet(const std::string& text) {
  return net::encode(ToMaster(WorkerHeartbeat{{text}}));
}
std::string text_of(const net::Packet& p) {
  auto m = net::decode<ToMaster>(p);
  return m ? std::get<WorkerHeartbeat>(*m).id.value : "?";
}

struct Heard {
  std::vector<std::pair<PeerId, std::string>> packets;
  std::vector<PeerId> lost;
  net::Endpoint::Handler handler() {
    return {[this](PeerId from, net::Packet&& p) { packets.emplace_back(from, text_of(p)); },
            [this](PeerId peer) { lost.push_back(peer); }};
  }
};

/// Whether there is an address ::1.
bool has_ipv6() {
  std::ifstream addresses("/proc/net/if_inet6");
  for (std::string line; std::getline(addresses, line);)
    if (line.ends_with(" lo")) return true;
  return false;
}

}  // namespace

namespace {

/// A server and a client on one loop; steps run when what they wait for is there.
struct Pair {
  std::unique_ptr<net::PollLoop> loop = net::make_poll_loop();
  std::unique_ptr<net::SocketEndpoint> server = net::make_socket_endpoint(*loop);
  std::unique_ptr<net::SocketEndpoint> client = net::make_socket_endpoint(*loop);
  Heard at_server, at_client;
  std::string address;
  PeerId peer = 0;

  explicit Pair(int64_t max_message = 1 << 20, const std::string& host = "127.0.0.1") {
    server->handle(at_server.handler());
    client->handle(at_client.handler());
    auto port = server->listen({host, 0, 0, max_message});
    REQUIRE(port);
    address = host + ":" + std::to_string(*port);
    auto connected = client->connect(address);
    REQUIRE(connected);
    peer = *connected;
  }
  void wait_for(std::function<bool()> done) { run_until(*loop, done); }
};

}  // namespace

TEST_CASE("sockets: messages go both ways and keep their order") {
  Pair p;
  for (int i = 0; i < 100; ++i) p.client->send(p.peer, packet(std::to_string(i)));
  p.wait_for([&] { return p.at_server.packets.size() == 100; });
  for (int i = 0; i < 100; ++i) CHECK(p.at_server.packets[size_t(i)].second == std::to_string(i));
  CHECK(p.server->send(p.at_server.packets[0].first, packet("back")));
  p.wait_for([&] { return p.at_client.packets.size() == 1; });
  CHECK(p.at_client.packets[0] == std::pair<PeerId, std::string>(p.peer, "back"));
}

TEST_CASE("sockets: a client that drops its connection is lost to the server, once") {
  Pair p;
  p.client->send(p.peer, packet("hello"));
  p.wait_for([&] { return p.at_server.packets.size() == 1; });
  p.client->drop(p.peer);
  p.wait_for([&] { return !p.at_server.lost.empty(); });
  CHECK(p.at_server.lost == std::vector<PeerId>{p.at_server.packets[0].first});
  CHECK_FALSE(p.server->send(p.at_server.lost[0], packet("late")));
  CHECK(p.at_client.lost.empty());
}

TEST_CASE("sockets: a peer that the server drops learns it") {
  Pair p;
  p.client->send(p.peer, packet("hello"));
  p.wait_for([&] { return p.at_server.packets.size() == 1; });
  p.server->drop(p.at_server.packets[0].first);
  p.wait_for([&] { return !p.at_client.lost.empty(); });
  CHECK(p.at_client.lost == std::vector<PeerId>{p.peer});
  CHECK(p.at_server.lost.empty());
  CHECK_FALSE(p.client->send(p.peer, packet("late")));
}

TEST_CASE("sockets: nobody listens: the peer is lost") {
  Pair p;
  p.server.reset();
  auto refused = p.client->connect(p.address);
  REQUIRE(refused);
  p.wait_for([&] { return p.at_client.lost.size() == 2; });
  CHECK(std::count(p.at_client.lost.begin(), p.at_client.lost.end(), *refused) == 1);
}

TEST_CASE("sockets: each connection is a new incarnation, also when descriptors are reused") {
  Pair p;
  std::set<PeerId> seen;
  for (size_t i = 0; i < 50; ++i) {
    p.client->send(p.peer, packet(std::to_string(i)));
    p.wait_for([&] { return p.at_server.packets.size() == i + 1; });
    CHECK(seen.insert(p.at_server.packets[i].first).second);
    p.client->drop(p.peer);
    auto again = p.client->connect(p.address);
    REQUIRE(again);
    p.peer = *again;
  }
  p.wait_for([&] { return p.at_server.lost.size() == 50; });
  CHECK(std::set<PeerId>(p.at_server.lost.begin(), p.at_server.lost.end()) == seen);
}

TEST_CASE("sockets: an address that is none is an error at once") {
  Pair p;
  for (const char* bad : {"nowhere", "127.0.0.1", "127.0.0.1:"})
    CHECK_FALSE(p.client->connect(bad));
}

TEST_CASE("sockets: a message over the limit ends its sender's connection") {
  Pair p(1000);
  p.client->send(p.peer, packet(std::string(100'000, 'x')));
  p.wait_for([&] { return !p.at_client.lost.empty(); });
  CHECK(p.at_server.packets.empty());
}

TEST_CASE("sockets: a fixed port in use is tried upwards, and refused without retries") {
  Pair p;
  int port = std::stoi(p.address.substr(p.address.rfind(':') + 1));
  auto second = net::make_socket_endpoint(*p.loop);
  CHECK_FALSE(second->listen({"127.0.0.1", port, 0, 1000}));
  auto third = net::make_socket_endpoint(*p.loop);
  auto got = third->listen({"127.0.0.1", port, 16, 1000});
  REQUIRE(got);
  CHECK(*got > port);
  CHECK(*got <= port + 16);
}

TEST_CASE("sockets: a host that listens may be given by name, or as IPv6 in brackets") {
  std::vector<std::string> hosts = {"localhost"};
  if (has_ipv6()) hosts.push_back("[::1]");
  for (const std::string& host : hosts) {
    INFO(host);
    Pair p(1 << 20, host);
    p.client->send(p.peer, packet("hello"));
    p.wait_for([&] { return p.at_server.packets.size() == 1; });
  }
}

TEST_CASE("sockets: all addresses may be listened on, none may not") {
  auto loop = net::make_poll_loop();
  for (const char* all : {"0.0.0.0", "*"}) {
    INFO(all);
    CHECK(net::make_socket_endpoint(*loop)->listen({all, 0, 0, 1000}));
  }
  CHECK_FALSE(net::make_socket_endpoint(*loop)->listen({"", 0, 0, 1000}));
}

TEST_CASE("memory: packets and the loss arrive at the other loop") {
  auto loop = net::make_poll_loop();
  auto [a, b] = net::make_memory_endpoints(*loop, *loop);
  Heard at_a, at_b;
  a->handle(at_a.handler());
  b->handle(at_b.handler());
  CHECK(a->send(1, packet("there")));
  CHECK(b->send(1, packet("back")));
  CHECK_FALSE(a->send(2, packet("nobody")));
  run_until(*loop, [&] { return at_a.packets.size() == 1 && at_b.packets.size() == 1; });
  b.reset();
  run_until(*loop, [&] { return at_a.lost.size() == 1; });
  CHECK_FALSE(a->send(1, packet("late")));
}
