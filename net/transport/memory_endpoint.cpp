// Two endpoints of one process, each on its own loop: packets are posted, not encoded to bytes
// again.
#include "net/mutex.hpp"
#include "net/transport/endpoint.hpp"

namespace tinderbox::net {
namespace {

class MemoryEndpoint;

/// What the two ends share, so that either may go first.
struct Link {
  Mutex mutex;
  MemoryEndpoint* ends[2] GUARDED_BY(mutex) = {nullptr, nullptr};
};

class MemoryEndpoint final : public Endpoint {
 public:
  MemoryEndpoint(Loop& loop, std::shared_ptr<Link> link, int side)
      : loop_(loop), link_(std::move(link)), side_(side) {
    Lock lock(link_->mutex);
    link_->ends[side_] = this;
  }
  ~MemoryEndpoint() override { drop(kMemoryPeer); }

  void handle(Handler handler) override { handler_ = std::move(handler); }
  uint64_t rejected() const override { return 0; }
  Result<PeerId> connect(const std::string&) override { return kMemoryPeer; }
  bool send(PeerId to, Packet packet) override {
    auto shared = std::make_shared<Packet>(std::move(packet));
    return to == kMemoryPeer && post_to_other([shared](MemoryEndpoint& other) {
             other.handler_.on_packet(kMemoryPeer, std::move(*shared));
           });
  }
  void drop(PeerId peer) override {
    if (peer != kMemoryPeer) return;
    post_to_other([](MemoryEndpoint& other) { other.handler_.on_lost(kMemoryPeer); });
    Lock lock(link_->mutex);
    link_->ends[side_] = nullptr;
  }

 private:
  /// `work` runs on the other end's loop, unless that end is gone by then.
  template <class F>
  bool post_to_other(F work) {
    Lock lock(link_->mutex);
    MemoryEndpoint* other = link_->ends[1 - side_];
    if (!other || !link_->ends[side_]) return false;
    other->loop_.post([link = link_, side = 1 - side_, work] {
      MemoryEndpoint* target;
      {
        Lock held(link->mutex);
        target = link->ends[side];
      }
      if (target) work(*target);
    });
    return true;
  }

  Loop& loop_;
  std::shared_ptr<Link> link_;
  int side_;
  Handler handler_;
};

}  // namespace

std::pair<std::unique_ptr<Endpoint>, std::unique_ptr<Endpoint>> make_memory_endpoints(Loop& a,
                                                                                      Loop& b) {
  auto link = std::make_shared<Link>();
  return {std::make_unique<MemoryEndpoint>(a, link, 0),
          std::make_unique<MemoryEndpoint>(b, link, 1)};
}

}  // namespace tinderbox::net
