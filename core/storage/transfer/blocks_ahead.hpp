// Blocks that are fetched before the tasks that read them begin: which are here, which are coming.
//
// The name of a map output's block is unique a task attempt, so what is here is never out of date.
// Its holder may be: outputs move. So a reader waits only for what comes from where it would ask.
// A block is for one reader and gone once that has it: whoever else wants it asks its holder. What
// nobody comes for is dropped with the stage that expected it, or with its shuffle. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "net/types.hpp"

namespace tinderbox::core {

class BlocksAhead {
 public:
  explicit BlocksAhead(int64_t max_bytes) : room_(max_bytes) {}

  /// What a block that is on its way or kept costs beside its bytes: 8 MiB of room are for no more
  /// than some 30,000 blocks, however small they are. Unit: bytes.
  static constexpr int64_t kPerBlock = 256;
  /// What a block of `size` bytes takes of the room.
  static constexpr int64_t weight_of(int64_t size) {
    return std::max<int64_t>(size, 0) + kPerBlock;
  }

  /// Who waits for a block that is coming: the `index`th of a request.
  struct Reader {
    uint64_t request = 0;
    size_t index = 0;
    bool operator==(const Reader&) const = default;
  };
  struct Taken {
    enum class State : uint8_t {
      Unknown,  // nobody asked for it, or somebody else waits for it, or it comes from elsewhere
      Coming,   // it goes to the reader once it came
      Here,
    } state = State::Unknown;
    Payload bytes;
  };

  /// `request`: that asks for it; `from`: its holder's address; `size`: estimate. False: it is here
  /// or coming already, or does not fit.
  bool begin(int64_t stage, uint64_t request, const std::string& block, const std::string& from,
             int64_t size);
  Taken take(const std::string& block, const std::string& from, Reader reader);
  /// The reader waits no longer.
  void leave(const std::string& block, Reader reader);
  /// What was begun is here, or can't be had; who waits for it gets either. What can't be had and
  /// nobody waits for is forgotten: who wants it later asks again. What comes for another request
  /// than the one that began the block changes nothing: that block was dropped, and begun again.
  std::optional<Reader> arrived(uint64_t request, const std::string& block,
                                const Result<Payload>& bytes);

  /// No task of that stage attempt will begin any more. Who waits goes on waiting.
  void forget_stage(int64_t stage);
  void forget_shuffle(ShuffleId shuffle);

  /// Bytes that may still be begun; below zero when blocks turned out larger than they were said
  /// to be.
  int64_t room() const { return room_; }
  size_t size() const { return blocks_.size(); }

 private:
  struct Block {
    int64_t stage = 0;
    uint64_t request = 0;
    int64_t weight = 0;  // counted against the room
    bool here = false;
    std::string from;
    Payload bytes;
    std::optional<Reader> reader;
    bool forgotten = false;  // goes with its reader
  };
  using Blocks = std::unordered_map<std::string, Block>;
  Blocks::iterator erase(Blocks::iterator block);
  Blocks::iterator forget(Blocks::iterator block);

  Blocks blocks_;
  int64_t room_;
};

}  // namespace tinderbox::core
