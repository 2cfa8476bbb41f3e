// Block transfer of one process: the thread, and the blocking face of it.
#include "core/storage/transfer/block_transfer.hpp"

#include <algorithm>
#include <deque>
#include <thread>
#include <utility>

#include "conf/keys.hpp"
#include "core/shell.hpp"
#include "core/storage/block_id.hpp"
#include "core/storage/transfer/fetched_file.hpp"
#include "net/loop.hpp"
#include "net/wire/codec.hpp"

namespace tinderbox::core {

BlockTransferOptions block_transfer_options(const conf::Conf& conf) {
  BlockTransferOptions options;
  options.read_host_local = conf.get(conf::kShuffleReadHostLocalDisk);
  // Known to executors only: the driver's blocks are served before its application has an id.
  options.server.app.value = conf.get(conf::kAppId).value_or("");
  options.client.who.app = options.server.app;
  BlockClientOptions& client = options.client;
  client.max_in_flight = conf.get(conf::kReducerMaxSizeInFlight);
  client.max_requests = conf.get(conf::kReducerMaxReqsInFlight);
  client.max_per_address = conf.get(conf::kReducerMaxBlocksPerAddress);
  client.max_retries = conf.get(conf::kShuffleIoMaxRetries);
  client.retry_wait = conf.get(conf::kShuffleIoRetryWait);
  client.silence = conf.get(conf::kShuffleIoConnectionTimeout);
  client.to_memory = conf.get(conf::kMaxRemoteBlockToMemory);
  options.max_disk = conf.get(conf::kMigrationMaxDisk);
  options.max_ahead = conf.get(conf::kShuffleFetchAhead);
  return options;
}

/// Where one request's blocks arrive. Thread: any.
struct BlockTransfer::Inbox {
  Inbox(uint64_t id, std::function<void(Result<Payload>)> then)
      : request(id), done(std::move(then)) {}
  /// Once, by whoever is first: the block, or the end of the transfer, may come on two threads.
  void tell(Result<Payload> bytes) {
    if (!told.exchange(true)) done(std::move(bytes));
  }
  const uint64_t request;
  const std::function<void(Result<Payload>)> done;  // instead of waiting for it; else empty
  std::atomic<bool> told{false};
  net::Mutex mutex;
  net::Condition changed;
  std::deque<FetchedBlock> arrived GUARDED_BY(mutex);
  bool stopped GUARDED_BY(mutex) = false;
};

// ---- the thread -----------------------------------------------------------------------

/// The loop with its endpoint and both machines. Thread: all but start, post and after are the
/// loop's.
class BlockTransfer::Plane {
 public:
  Plane(BlockTransfer& transfer, BlockManager& blocks, const BlockTransferOptions& options)
      : transfer_(transfer),
        blocks_(blocks),
        loop_(net::make_poll_loop()),
        endpoint_(net::make_socket_endpoint(*loop_)),
        board_(*endpoint_),
        options_(options),
        server_(options.server),
        client_(options.client) {
    serving_.listen<ToBlocks>();
    serving_.listen_losses();
    fetching_.listen<FromBlocks>();
    fetching_.listen_losses();
  }
  ~Plane() {
    loop_->stop();
    if (thread_.joinable()) thread_.join();
  }
  Result<int> start(const net::Listen& where) {
    Result<int> port = endpoint_->listen(where);
    if (port) thread_ = std::thread([this] { loop_->run(); });
    return port;
  }
  void post(BlockClient::Event event) { fetching_.post(std::move(event)); }
  void after(Duration delay, std::function<void()> task) {
    loop_->post([this, delay, task = std::move(task)] { loop_->after(delay, task); });
  }

  void take(TakeBlock what, std::function<void(BlockTaken)> done) {
    loop_->post([this, what = std::move(what), done = std::move(done)] {
      taken_[what.request] = done;
      taking_.feed(what);
    });
  }

  /// Now and then the loop goes round before the next one: who wants much must not keep others
  /// waiting, nor what comes for tasks of this process, and that it was lost must be heard.
  void apply(const ReadBlock& e) {
    BlockReady ready{e.ticket, blocks_.read(e.block)};
    read_ += kReadCost + (ready.bytes ? ready.bytes->size() : 0);
    if (read_ < kReadAtOnce) return serving_.feed(std::move(ready));
    read_ = 0;
    serving_.post(std::move(ready));
  }
  void apply(const DeliverBlock& e) { transfer_.deliver(e); }
  void apply(const KeepChunk& e) {
    const Result<bool> kept = files_[e.stream].append(blocks_, e.bytes.view());
    if (!kept) fetching_.feed(FileFailed{e.stream, kept.error()});
  }
  void apply(const ReadBack& e) {
    Result<Payload> bytes = files_.at(e.stream).read(blocks_);
    if (!bytes) return fetching_.feed(FileFailed{e.stream, bytes.error()});
    fetching_.feed(FileRead{e.stream, std::move(*bytes)});
  }
  void apply(const DropFile& e) { files_.erase(e.stream); }
  void apply(const FetchPart& e) {
    transfer_.fetch_async({.from = e.from, .block = e.block},
                          [this, request = e.request](Result<Payload> bytes) {
                            taking_.post(PartFetched{request, std::move(bytes)});
                          });
  }
  void apply(const KeepBlock& e) {
    const bool kept = blocks_.put(e.block, e.level, net::to_keep(e.bytes), true);
    taking_.feed(PartKept{e.request, kept ? Result<bool>(true) : Error{"there is no room for it"}});
  }
  void apply(const KeepPartitions& e) {
    const Result<bool> kept = keep(e);
    if (!kept) outputs_.erase(e.request);
    taking_.feed(PartKept{e.request, kept});
  }
  void apply(const BlockTaken& e) {
    outputs_.erase(e.request);
    if (auto done = taken_.extract(e.request)) done.mapped()(e);
  }

 private:
  Result<bool> keep(const KeepPartitions& e) {
    MapOutputStore& store = blocks_.map_outputs();
    std::unique_ptr<PendingMapOutput>& output = outputs_[e.request];
    if (!output) {
      if (options_.max_disk && store.disk_used() > *options_.max_disk)
        return Error{"it has " + std::to_string(store.disk_used()) +
                     " bytes of map outputs on disk, more than " +
                     std::string(conf::kMigrationMaxDisk.spec.name)};
      output = store.open(e.shuffle, e.map_id, e.num_reduces);
    }
    std::string_view rest = e.bytes.view();
    int32_t reduce = e.first;
    for (const int64_t length : e.lengths) {
      if (static_cast<size_t>(length) > rest.size())
        return Error{"fewer bytes came than its index says"};
      Result<bool> put = true;
      e.bytes.each_window(rest.substr(0, static_cast<size_t>(length)), [&](std::string_view part) {
        if (put) put = output->append(reduce, part);
      });
      if (!put) return put;
      ++reduce;
      rest.remove_prefix(static_cast<size_t>(length));
    }
    if (reduce < e.num_reduces) return true;
    if (Result<std::vector<int64_t>> done = output->commit(); !done) return done.error();
    return true;
  }

  // Unit: bytes; a read costs as much as some of them.
  static constexpr size_t kReadAtOnce = 512 << 10, kReadCost = 16 << 10;

  BlockTransfer& transfer_;
  BlockManager& blocks_;
  size_t read_ = 0;  // since the loop went round
  std::unique_ptr<net::PollLoop> loop_;
  std::unique_ptr<net::SocketEndpoint> endpoint_;
  Switchboard board_;
  const BlockTransferOptions& options_;
  BlockServer server_;
  BlockClient client_;
  BlockTaker taker_;
  std::map<uint64_t, FetchedFile> files_;                          // by stream
  std::map<uint64_t, std::unique_ptr<PendingMapOutput>> outputs_;  // that are taken over
  std::map<uint64_t, std::function<void(BlockTaken)>> taken_;      // who waits for it
  Shell<BlockServer, Plane> serving_{*loop_, board_, server_, *this, "BlockServer"};
  Shell<BlockClient, Plane> fetching_{*loop_, board_, client_, *this, "BlockClient"};
  Shell<BlockTaker, Plane> taking_{*loop_, board_, taker_, *this, "BlockTaker"};
  std::thread thread_;
};

Result<std::unique_ptr<BlockTransfer>> BlockTransfer::start(BlockTransferOptions options,
                                                            BlockManager& blocks) {
  auto transfer = std::make_unique<BlockTransfer>(std::move(options), blocks);
  if (!transfer->options_.network) return transfer;
  auto plane = std::make_unique<Plane>(*transfer, blocks, transfer->options_);
  Result<int> port = plane->start(transfer->options_.listen);
  if (!port) return port.error();
  transfer->port_ = *port;
  {
    net::Lock lock(transfer->mutex_);
    transfer->plane_ = std::move(plane);
  }
  return transfer;
}

BlockTransfer::BlockTransfer(BlockTransferOptions options, BlockManager& blocks)
    : options_(std::move(options)),
      blocks_(blocks),
      // What goes ahead is taken by nobody yet, so a request of it must fit whole.
      ahead_(options_.network ? std::min(options_.max_ahead, options_.client.max_in_flight) : 0) {}

BlockTransfer::~BlockTransfer() { stop(); }

void BlockTransfer::stop() {
  std::map<uint64_t, std::shared_ptr<Inbox>> open;
  std::unique_ptr<Plane> plane;
  {
    net::Lock lock(mutex_);
    stopped_ = true;
    open.swap(inboxes_);
    plane = std::move(plane_);
  }
  for (const auto& [request, inbox] : open) {
    if (inbox->done) inbox->tell(Error{"block transfer has stopped"});
    net::Lock lock(inbox->mutex);
    inbox->stopped = true;
    inbox->changed.notify_all();
  }
  plane.reset();  // ends its thread, which may wait for the lock
}

void BlockTransfer::after(Duration delay, std::function<void()> task) {
  net::Lock lock(mutex_);
  if (plane_) plane_->after(delay, std::move(task));
}

void BlockTransfer::take(TakeBlock what, std::function<void(BlockTaken)> done) {
  net::Lock lock(mutex_);
  if (plane_) plane_->take(std::move(what), std::move(done));
}

void BlockTransfer::interrupt() {
  net::Lock lock(mutex_);
  for (const auto& [request, inbox] : inboxes_) {
    net::Lock inner(inbox->mutex);
    inbox->changed.notify_all();
  }
}

// ---- requests -------------------------------------------------------------------------

void BlockTransfer::set_local_dirs(const ExecutorId& executor,
                                   std::vector<std::string> directories) {
  net::Lock lock(mutex_);
  local_dirs_[executor] = std::move(directories);
}

bool BlockTransfer::may_read_directly(const BlockWant& want) {
  if (want.from.executor == options_.self.executor) return true;
  if (want.in_memory || !options_.read_host_local || want.from.host != options_.self.host)
    return false;
  return local_dirs_.contains(want.from.executor);
}

std::optional<Result<Payload>> BlockTransfer::read_directly(const BlockWant& want) {
  if (want.from.executor == options_.self.executor) return blocks_.read(want.block);
  const std::optional<BlockId> id = parse_block_id(want.block);
  const bool shuffle =
      id && (id->kind == BlockId::Kind::Shuffle || id->kind == BlockId::Kind::ShuffleRange);
  std::vector<std::string> directories;
  {
    net::Lock lock(mutex_);
    const auto it = local_dirs_.find(want.from.executor);
    if (!shuffle || it == local_dirs_.end() || it->second.empty()) return std::nullopt;
    directories = it->second;
  }
  MapOutputFiles::Outcome outcome = blocks_.map_outputs().read_host_local(directories, *id);
  if (outcome.missing) return std::nullopt;  // in its owner's memory
  return std::move(outcome.bytes);
}

std::shared_ptr<BlockTransfer::Inbox> BlockTransfer::open_inbox(
    std::function<void(Result<Payload>)> done) {
  net::Lock lock(mutex_);
  auto inbox = std::make_shared<Inbox>(next_request_++, std::move(done));
  if (stopped_) {
    net::Lock inner(inbox->mutex);
    inbox->stopped = true;
  } else {
    inboxes_[inbox->request] = inbox;
  }
  return inbox;
}

/// `asked`: a peer was, so the client knows the request.
void BlockTransfer::close_inbox(uint64_t request, bool asked) {
  net::Lock lock(mutex_);
  if (inboxes_.erase(request) > 0 && asked && plane_) plane_->post(EndRequest{request});
}

void BlockTransfer::ask_peers(uint64_t request, std::vector<WantedBlock> wanted) {
  net::Lock lock(mutex_);
  if (plane_) return plane_->post(FetchBlocks{request, std::move(wanted)});
  lock.unlock();
  for (const WantedBlock& want : wanted)
    deliver({request, want.index,
             Error{"cannot fetch " + shown_block(want.block) +
                   ": this process has no block transfer"}});
}

void BlockTransfer::deliver(const DeliverBlock& block) {
  std::shared_ptr<Inbox> inbox;
  std::optional<BlocksAhead::Reader> reader;
  {
    net::Lock lock(mutex_);
    if (reader = reader_of(block); !reader) return;
    const auto it = inboxes_.find(reader->request);
    if (it == inboxes_.end()) return;
    inbox = it->second;
  }
  if (inbox->done) {
    close_inbox(block.request, true);
    return inbox->tell(block.bytes);
  }
  net::Lock lock(inbox->mutex);
  inbox->arrived.push_back({reader->index, block.bytes});
  inbox->changed.notify_all();
}

// ---- ahead of the readers -------------------------------------------------------------

void BlockTransfer::fetch_ahead(int64_t stage, const std::vector<BlockWant>& wants) {
  std::vector<WantedBlock> wanted;
  AheadRequest names;
  net::Lock lock(mutex_);
  if (!plane_) return;
  const uint64_t request = next_request_++;
  for (const BlockWant& want : wants) {
    if (may_read_directly(want) ||
        !ahead_.begin(stage, request, want.block, want.from.address, want.size))
      continue;
    wanted.push_back({wanted.size(), want.from.address, want.block, want.size});
    names.blocks.push_back(want.block);
  }
  if (wanted.empty()) return;
  names.open = wanted.size();
  ahead_requests_[request] = std::move(names);
  plane_->post(FetchBlocks{request, std::move(wanted)});
}

int64_t BlockTransfer::room_ahead() {
  net::Lock lock(mutex_);
  return ahead_.room();
}

void BlockTransfer::forget_stage(int64_t stage) {
  net::Lock lock(mutex_);
  ahead_.forget_stage(stage);
}

void BlockTransfer::forget_shuffle(ShuffleId shuffle) {
  net::Lock lock(mutex_);
  ahead_.forget_shuffle(shuffle);
}

/// Who gets a block that came: nobody yet when it went ahead of its reader.
std::optional<BlocksAhead::Reader> BlockTransfer::reader_of(const DeliverBlock& block) {
  const auto it = ahead_requests_.find(block.request);
  if (it == ahead_requests_.end()) return BlocksAhead::Reader{block.request, block.index};
  const std::optional<BlocksAhead::Reader> reader =
      ahead_.arrived(block.request, it->second.blocks.at(block.index), block.bytes);
  if (--it->second.open > 0) return reader;
  ahead_requests_.erase(it);
  if (plane_) plane_->post(EndRequest{block.request});
  return reader;
}

/// True: the reader has it, or gets it when it comes.
bool BlockTransfer::take_ahead(const BlockWant& want, size_t index, Inbox& inbox) {
  if (ahead_.size() == 0) return false;
  BlocksAhead::Taken taken = ahead_.take(want.block, want.from.address, {inbox.request, index});
  if (taken.state == BlocksAhead::Taken::State::Here) {
    net::Lock lock(inbox.mutex);
    inbox.arrived.push_back({index, std::move(taken.bytes)});
  }
  return taken.state != BlocksAhead::Taken::State::Unknown;
}

void BlockTransfer::fetch_async(BlockWant want, std::function<void(Result<Payload>)> done) {
  if (want.from.executor == options_.self.executor) return done(blocks_.read(want.block));
  const std::shared_ptr<Inbox> inbox = open_inbox(std::move(done));
  bool stopped = false;
  {
    net::Lock lock(inbox->mutex);
    stopped = inbox->stopped;
  }
  if (stopped) return inbox->tell(Error{"block transfer has stopped"});
  ask_peers(inbox->request, {{0, want.from.address, want.block, want.size}});
}

// ---- streams --------------------------------------------------------------------------

/// What one task fetches: blocks that arrived first, then one that is read directly, else it waits.
class BlockTransfer::Stream : public BlockStream {
 public:
  Stream(BlockTransfer& transfer, std::vector<BlockWant> wants, const std::atomic<bool>& killed)
      : transfer_(transfer),
        wants_(std::move(wants)),
        killed_(killed),
        inbox_(transfer.open_inbox({})),
        delivered_(wants_.size()),
        went_ahead_(wants_.size()),
        remaining_(wants_.size()) {
    std::vector<WantedBlock> wanted;
    {
      net::Lock lock(transfer_.mutex_);
      for (size_t i = 0; i < wants_.size(); ++i) {
        if (transfer_.may_read_directly(wants_[i]))
          direct_.push_back(i);
        else if (transfer_.take_ahead(wants_[i], i, *inbox_))
          went_ahead_[i] = true;
        else
          wanted.push_back(remote(i));
      }
    }
    if (!wanted.empty()) transfer_.ask_peers(inbox_->request, std::move(wanted));
  }
  ~Stream() override {
    leave();
    transfer_.close_inbox(inbox_->request, remote_blocks_ > 0);
  }

  std::optional<FetchedBlock> next() override {
    while (remaining_ > 0) {
      if (killed_.load(std::memory_order_relaxed)) return give_up("the task was killed");
      std::optional<FetchedBlock> block;
      if (const Arrival arrival = take(block); arrival == Arrival::Stopped)
        return give_up("block transfer has stopped");
      if (block) return taken(std::move(*block));
      if (direct_.empty()) continue;
      const size_t index = direct_.front();
      direct_.pop_front();
      if (std::optional<Result<Payload>> bytes = transfer_.read_directly(wants_[index]))
        return deliver({index, std::move(*bytes), true});
      const WantedBlock wanted = remote(index);
      tell_taken();  // from here on the client may count what it was not told while it fitted
      transfer_.ask_peers(inbox_->request, {wanted});
    }
    return std::nullopt;
  }

 private:
  enum class Arrival : uint8_t { Block, Nothing, Stopped };

  /// Waits only while nothing can be read directly.
  Arrival take(std::optional<FetchedBlock>& block) {
    net::Lock lock(inbox_->mutex);
    while (inbox_->arrived.empty()) {
      if (inbox_->stopped) return Arrival::Stopped;
      if (!direct_.empty() || killed_.load(std::memory_order_relaxed)) return Arrival::Nothing;
      inbox_->changed.wait(lock);
    }
    block.emplace(std::move(inbox_->arrived.front()));
    inbox_->arrived.pop_front();
    drained_ = inbox_->arrived.empty();
    return Arrival::Block;
  }

  WantedBlock remote(size_t index) {
    const BlockWant& want = wants_[index];
    remote_bytes_ += std::max<int64_t>(want.size, 1);
    ++remote_blocks_;
    return {index, want.from.address, want.block, want.size};
  }

  /// Blocks that still come are for whoever wants them next.
  void leave() {
    if (delivered_count_ == wants_.size()) return;
    net::Lock lock(transfer_.mutex_);
    for (size_t i = 0; i < wants_.size(); ++i)
      if (went_ahead_[i] && !delivered_[i])
        transfer_.ahead_.leave(wants_[i].block, {inbox_->request, i});
  }

  FetchedBlock deliver(FetchedBlock block) {
    delivered_[block.index] = true;
    ++delivered_count_;
    --remaining_;
    return block;
  }

  /// Tells the client what was taken, unless it could ask for everything at once anyway.
  FetchedBlock taken(FetchedBlock block) {
    // One that went ahead is not counted, but may be the last before this stream has to wait.
    if (!went_ahead_[block.index]) taken_bytes_ += std::max<int64_t>(wants_[block.index].size, 1);
    const BlockClientOptions& limits = transfer_.options_.client;
    const bool bounded =
        remote_bytes_ > limits.max_in_flight || remote_blocks_ > limits.max_requests;
    if (bounded && (drained_ || taken_bytes_ >= limits.max_in_flight / 8)) tell_taken();
    return deliver(std::move(block));
  }

  void tell_taken() {
    if (taken_bytes_ == 0) return;
    net::Lock lock(transfer_.mutex_);
    if (transfer_.plane_)
      transfer_.plane_->post(BlocksTaken{inbox_->request, std::exchange(taken_bytes_, 0)});
  }

  FetchedBlock give_up(const std::string& why) {
    const auto it = std::find(delivered_.begin(), delivered_.end(), false);
    const auto index = static_cast<size_t>(it - delivered_.begin());
    remaining_ = 0;
    return {index, Error{"cannot fetch " + shown_block(wants_[index].block) + ": " + why}};
  }

  BlockTransfer& transfer_;
  const std::vector<BlockWant> wants_;
  const std::atomic<bool>& killed_;
  const std::shared_ptr<Inbox> inbox_;
  std::vector<bool> delivered_, went_ahead_;
  size_t delivered_count_ = 0;
  size_t remaining_;  // 0 too once it gave up
  std::deque<size_t> direct_;
  int64_t remote_bytes_ = 0;
  int32_t remote_blocks_ = 0;
  int64_t taken_bytes_ = 0;
  bool drained_ = false;
};

std::unique_ptr<BlockStream> BlockTransfer::fetch(std::vector<BlockWant> wants,
                                                  const std::atomic<bool>& killed) {
  return std::make_unique<Stream>(*this, std::move(wants), killed);
}

}  // namespace tinderbox::core
