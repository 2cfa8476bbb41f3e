// Input of tasks that wait in this executor's queue, fetched while others run.
//
// Problem: a task that asks for its blocks when it begins leaves its slot idle for a round trip,
// which is longer than many tasks are. So a task thread that finds others behind its task tells
// what they will read, and their blocks are asked for together, one request for many tasks. Where
// the outputs lie may not be known yet: then they are asked for when the answer comes, for which
// the first of these tasks waits anyway.
#include "core/executor/task_services.hpp"
#include "core/shuffle/blocks/wants.hpp"

namespace tinderbox::core {

/// The caller is a task of that program: what was known before its epoch is out of date for all.
void ExecutorServices::expect(int64_t program, const std::vector<ShuffleRead>& reads) {
  const TaskContext* task = TaskContext::current();
  std::map<ShuffleId, std::vector<Expected>> by_shuffle;
  for (const ShuffleRead& read : reads) by_shuffle[read.shuffle].push_back({program, read});
  for (auto& [shuffle, expected] : by_shuffle) {
    MapOutputsPtr outputs;
    {
      net::Lock lock(mutex_);
      const bool current = !task || task->epoch <= epoch_;
      if (const auto known = outputs_.find(shuffle); current && known != outputs_.end())
        outputs = known->second.value;
      if (!outputs) {
        std::vector<Expected>& later = expected_[shuffle];
        later.insert(later.end(), expected.begin(), expected.end());
      }
    }
    if (outputs) fetch_ahead(*outputs, expected);
  }
}

/// Stops at the first task whose blocks have no room: the next ones' would be no use before its.
/// The very first one asks by itself then: it runs. The first tasks' are asked for while those of
/// later ones are looked up.
void ExecutorServices::fetch_ahead(const MapOutputs& outputs,
                                   const std::vector<Expected>& expected) {
  int64_t room = transfer_.room_ahead();
  if (room <= 0) return;
  std::vector<BlockWant> asked;
  int64_t asking = 0;           // whose they are
  size_t tasks = 0, most = 16;  // of one request: doubled each time
  const auto ask = [&] {
    if (!asked.empty()) transfer_.fetch_ahead(asking, std::exchange(asked, {}));
    tasks = 0;
  };
  for (const auto& [program, read] : expected) {
    std::vector<BlockWant> wants = wants_of_others(outputs, read, *this);
    int64_t size = 0;
    for (const BlockWant& want : wants) size += BlocksAhead::weight_of(want.size);
    if (size > room && &read != &expected.front().read) break;
    if (size > room) continue;
    room -= size;
    if (program != asking) ask();
    asking = program;
    std::move(wants.begin(), wants.end(), std::back_inserter(asked));
    if (++tasks < most) continue;
    ask();
    most *= 2;
  }
  ask();
}

void ExecutorServices::forget_program(int64_t program) {
  transfer_.forget_stage(program);
  net::Lock lock(mutex_);
  for (auto it = expected_.begin(); it != expected_.end();) {
    std::erase_if(it->second, [&](const Expected& e) { return e.program == program; });
    it = it->second.empty() ? expected_.erase(it) : std::next(it);
  }
}

}  // namespace tinderbox::core
