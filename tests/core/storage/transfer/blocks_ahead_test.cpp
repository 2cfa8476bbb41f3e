// Blocks fetched before their readers begin: what each event does, step by step.
#include "core/storage/transfer/blocks_ahead.hpp"

#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;

namespace {

constexpr int64_t kRoom = 100;

/// Plays a line of steps, and says what each gave:
///   begin STAGE BLOCK SIZE [HOLDER]   yes | no
///   take BLOCK READER [HOLDER]        unknown | coming | the bytes
///   come BLOCK BYTES         → READER | kept
///   late BLOCK BYTES         as come, for the request that began it first
///   fail BLOCK               → READER | forgotten
///   leave BLOCK READER, stage STAGE, shuffle S        the room that is left
class Play {
 public:
  /// Room for that many blocks whose bytes are kRoom together.
  explicit Play(int64_t most = 4) : blocks_(kRoom + most * BlocksAhead::kPerBlock), most_(most) {}
  /// What is left of kRoom.
  int64_t room() const {
    const int64_t more = most_ - static_cast<int64_t>(blocks_.size());
    return blocks_.room() - more * BlocksAhead::kPerBlock;
  }
  std::string operator()(const std::string& steps) {
    std::istringstream in(steps);
    std::string said;
    for (std::string step; std::getline(in, step, ';');) {
      std::istringstream words(step);
      std::string verb;
      words >> verb;
      said += (said.empty() ? "" : "; ") + one(verb, words);
    }
    return said;
  }

 private:
  static std::string who(const std::optional<BlocksAhead::Reader>& reader, const char* nobody) {
    if (!reader) return nobody;
    CHECK(reader->index == reader->request + 1);
    return "→ " + std::to_string(reader->request);
  }
  static BlocksAhead::Reader reader(std::istringstream& words) {
    uint64_t number = 0;
    words >> number;
    return {number, number + 1};
  }
  std::string one(const std::string& verb, std::istringstream& words) {
    std::string block;
    int64_t number = 0;
    if (verb == "begin") {
      int64_t size = 0;
      std::string from;
      words >> number >> block >> size >> from;
      if (!blocks_.begin(number, ++request_, block, from, size)) return "no";
      begun_[block].push_back(request_);
      return "yes";
    }
    if (verb == "stage" || verb == "shuffle") {
      words >> number;
      if (verb == "stage")
        blocks_.forget_stage(number);
      else
        blocks_.forget_shuffle(ShuffleId{static_cast<int32_t>(number)});
      return std::to_string(room());
    }
    words >> block;
    if (verb == "take") {
      using State = BlocksAhead::Taken::State;
      const BlocksAhead::Reader who = reader(words);
      std::string from;
      words >> from;
      const BlocksAhead::Taken taken = blocks_.take(block, from, who);
      if (taken.state == State::Here) return std::string(taken.bytes.view());
      return taken.state == State::Coming ? "coming" : "unknown";
    }
    if (verb == "leave") {
      blocks_.leave(block, reader(words));
      return std::to_string(room());
    }
    const std::vector<uint64_t>& begun = begun_[block];
    const uint64_t last = begun.empty() ? 0 : begun.back();
    if (verb == "fail") return who(blocks_.arrived(last, block, Error{"lost"}), "forgotten");
    REQUIRE((verb == "come" || verb == "late"));
    std::string bytes;
    words >> bytes;
    const uint64_t request = verb == "late" ? begun.front() : last;
    return who(blocks_.arrived(request, block, Payload(std::move(bytes))), "kept");
  }
  BlocksAhead blocks_;
  const int64_t most_;
  uint64_t request_ = 0;
  std::map<std::string, std::vector<uint64_t>> begun_;
};

}  // namespace

TEST_CASE("a block that is here or coming goes to one reader", "[blocks_ahead]") {
  struct Case {
    const char *name, *steps, *said;
    int64_t room;
  };
  const Case cases[] = {
      {"nobody asked for it", "take b 1", "unknown", 100},
      {"it came first", "begin 1 b 30;come b xyz;take b 1;take b 2", "yes; kept; xyz; unknown",
       100},
      {"its reader came first", "begin 1 b 30;take b 1;come b xyz;take b 2",
       "yes; coming; → 1; unknown", 100},
      {"a second reader asks for itself", "begin 1 b 30;take b 1;take b 2", "yes; coming; unknown",
       70},
      {"its reader knows it elsewhere", "begin 1 b 30 old;take b 1 new;fail b;take b 1 new",
       "yes; unknown; forgotten; unknown", 100},
      {"it is here from where it was", "begin 1 b 30 old;come b x;take b 1 new", "yes; kept; x",
       100},
      {"it is counted with the size that it has", "begin 1 b 30;come b 12345", "yes; kept", 95},
      {"it is asked for once", "begin 1 b 30;begin 2 b 30;come b x;begin 1 b 30",
       "yes; no; kept; no", 99},
      {"it comes again after it was taken", "begin 1 b 30;come b x;take b 1;begin 1 b 30",
       "yes; kept; x; yes", 70},
      {"what comes twice counts once", "begin 1 b 30;come b x;come b yy;take b 1",
       "yes; kept; kept; x", 100},
      {"what was dropped and begun again waits for its own",
       "begin 1 b 30;stage 1;begin 2 b 30;take b 1;late b old;come b new;take b 2",
       "yes; 100; yes; coming; kept; → 1; unknown", 100},
      {"it goes with a reader that leaves after its stage",
       "begin 1 b 30;take b 1;stage 1;leave b 1;come b x", "yes; coming; 70; 100; kept", 100},
      {"and after its shuffle",
       "begin 1 shuffle_7_0 30;take shuffle_7_0 1;shuffle 7;leave shuffle_7_0 1",
       "yes; coming; 70; 100", 100},
      {"what nobody began is not kept", "come b x;take b 1", "kept; unknown", 100},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    Play play;
    CHECK(play(c.steps) == c.said);
    CHECK(play.room() == c.room);
  }
}

TEST_CASE("what can't be had is told to who waits, and else to nobody", "[blocks_ahead]") {
  struct Case {
    const char *name, *steps, *said;
  };
  const Case cases[] = {
      {"nobody waits", "begin 1 b 30;fail b;take b 1;begin 1 b 30", "yes; forgotten; unknown; yes"},
      {"a reader waits", "begin 1 b 30;take b 1;fail b;take b 1", "yes; coming; → 1; unknown"},
      {"the reader left", "begin 1 b 30;take b 1;leave b 1;fail b;take b 2",
       "yes; coming; 70; forgotten; unknown"},
      {"it is here already", "begin 1 b 30;come b x;fail b;take b 1", "yes; kept; forgotten; x"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    Play play;
    CHECK(play(c.steps) == c.said);
  }
}

TEST_CASE("a reader that left frees its block for the next one", "[blocks_ahead]") {
  Play play;
  CHECK(play("begin 1 b 30;take b 1;leave b 1;take b 2;come b x") ==
        "yes; coming; 70; coming; → 2");
  CHECK(play("begin 1 b 30;take b 1;leave b 2;come b x") == "yes; coming; 70; → 1");
  CHECK(play("leave nothing 1") == "100");
}

TEST_CASE("what does not fit is not asked for; what proves larger leaves less room",
          "[blocks_ahead]") {
  Play play(2);
  CHECK(play("begin 1 a 60;begin 1 b 41;begin 1 c 40;begin 1 d 0") == "yes; no; yes; no");
  CHECK(play("come a 12345678901234567890;fail c;begin 1 d 81;begin 1 d 80;begin 1 e 0") ==
        "kept; forgotten; no; yes; no");
  BlocksAhead none(0);
  CHECK_FALSE(none.begin(1, 1, "a", "", 0));
  BlocksAhead small(10 + BlocksAhead::kPerBlock);
  CHECK(small.begin(1, 1, "a", "", 1));
  CHECK_FALSE(small.arrived(1, "a", Payload(Bytes(50, 'x'))));
  CHECK(small.room() == -40);
  CHECK_FALSE(small.begin(1, 2, "b", "", 0));
  CHECK(small.take("a", "", {}).bytes.size() == 50);
  CHECK(small.room() == 10 + BlocksAhead::kPerBlock);
}

TEST_CASE("however small blocks are, there is room for so many only", "[blocks_ahead]") {
  BlocksAhead blocks(8 << 20);
  const auto name = [](int64_t map) { return "shuffle_1_" + std::to_string(map) + "_0"; };
  int64_t begun = 0;
  while (blocks.begin(1, 1, name(begun), "", 1)) ++begun;
  CHECK(begun == (8 << 20) / (1 + BlocksAhead::kPerBlock));
  CHECK(begun < 33'000);
  CHECK_FALSE(blocks.arrived(1, name(0), Payload()));
  CHECK_FALSE(blocks.begin(1, 1, name(begun), "", 0));  // nor when they are here, and empty
}

TEST_CASE("the end of a stage, or of a shuffle, frees what nobody waits for", "[blocks_ahead]") {
  const std::string begun =
      "begin 1 shuffle_1_5_0 10;begin 1 shuffle_12_6_0 10;begin 2 shuffle_1_7_0 10;"
      "begin 1 shuffle_1_8_0 10;come shuffle_1_5_0 0123456789;take shuffle_1_8_0 4;";
  const std::string did = "yes; yes; yes; yes; kept; coming; ";
  struct Case {
    const char *steps, *said;
  };
  const Case cases[] = {
      {"stage 1;come shuffle_1_8_0 x;come shuffle_12_6_0 x;come shuffle_1_7_0 x",
       "80; → 4; kept; kept"},
      {"stage 3", "60"},
      {"shuffle 1;take shuffle_1_5_0 5;take shuffle_1_7_0 5;take shuffle_12_6_0 5",
       "80; unknown; unknown; coming"},
      {"shuffle 12;take shuffle_1_5_0 5", "70; 0123456789"},
      {"shuffle 1;stage 1;come shuffle_1_8_0 x;stage 1", "80; 90; → 4; 100"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.steps);
    Play play;
    CHECK(play(begun + c.steps) == did + c.said);
  }
}
