#include "core/shuffle/writer.hpp"

#include <stdexcept>

#include "conf/conf.hpp"
#include "core/plan/or_throw.hpp"
#include "core/shuffle/block.hpp"
#include "core/shuffle/task_setting.hpp"

namespace tinderbox::core {
namespace {

constexpr int64_t kLeastBudget = 4 << 20;

}  // namespace

int64_t shuffle_memory_budget(const TaskServices& services) {
  const auto memory = static_cast<double>(task_setting(services, conf::kExecutorMemory));
  const auto cores = task_setting(services, conf::kExecutorCores).value_or(1);
  // Half of the pool: the sealed pieces of the last table and the next table lie side by side.
  const double share =
      memory * task_setting(services, conf::kMemoryFraction) / 2 / std::max(cores, 1);
  return std::max(kLeastBudget, static_cast<int64_t>(share));
}

ShuffleWriter::ShuffleWriter(TaskContext& context, ShuffleId shuffle, int32_t num_reduces,
                             int64_t budget)
    : context_(context),
      shuffle_(shuffle),
      budget_(budget),
      compress_(task_setting(*context.services, conf::kShuffleCompress)),
      parts_(static_cast<size_t>(num_reduces)) {}

ShuffleWriter::~ShuffleWriter() { remove_runs(); }

void ShuffleWriter::seal(int32_t r) {
  Part& part = parts_[static_cast<size_t>(r)];
  if (part.open.empty()) return;
  const size_t before = part.sealed.size();
  seal_piece(part.open, compress_, part.sealed);
  part.open.clear();
  sealed_bytes_ += static_cast<int64_t>(part.sealed.size() - before);
  if (sealed_bytes_ > budget_) spill();
}

void ShuffleWriter::spill() {
  net::Files& files = context_.services->files();
  const std::string directory =
      or_throw(context_.services->temp_directory(), "no directory to spill to");
  Run run{directory + "/temp_shuffle_" + std::to_string(shuffle_.value) + "_" +
              std::to_string(context_.id.value) + "_" + std::to_string(runs_.size()),
          {0}};
  auto file = or_throw(files.create(run.path), "cannot spill");
  for (Part& part : parts_) {
    or_throw(file->append(part.sealed), "cannot spill");
    run.offsets.push_back(file->size());
    Bytes().swap(part.sealed);
  }
  or_throw(file->commit(), "cannot spill");
  runs_.push_back(std::move(run));
  context_.metrics.memory_spilled += sealed_bytes_;
  context_.metrics.disk_spilled += runs_.back().offsets.back();
  sealed_bytes_ = 0;
}

Bytes ShuffleWriter::joined(int32_t r, const std::vector<std::unique_ptr<net::ReadFile>>& files) {
  const auto at = static_cast<size_t>(r);
  Bytes all;
  for (size_t i = 0; i < runs_.size(); ++i) {
    const int64_t from = runs_[i].offsets[at], size = runs_[i].offsets[at + 1] - from;
    if (size > 0)
      all += or_throw(files[i]->view(from, size), "cannot read what was spilled").view();
  }
  all += parts_[at].sealed;
  return all;
}

TaskOutput ShuffleWriter::commit() {
  const auto n = static_cast<int32_t>(parts_.size());
  // The rest stays in memory: it is at most one open buffer a partition.
  const int64_t budget = std::exchange(budget_, INT64_MAX);
  for (int32_t r = 0; r < n; ++r) seal(r);
  budget_ = budget;
  std::vector<std::unique_ptr<net::ReadFile>> files;
  for (const Run& run : runs_) {
    files.push_back(
        or_throw(context_.services->files().open(run.path), "cannot read what was spilled"));
  }
  auto output = context_.services->map_output(shuffle_, context_.id.value, context_.partition, n);
  for (int32_t r = 0; r < n; ++r) {
    Bytes& sealed = parts_[static_cast<size_t>(r)].sealed;
    if (runs_.empty() && sealed.empty()) continue;
    const Bytes bytes = runs_.empty() ? std::move(sealed) : joined(r, files);
    if (bytes.empty()) continue;
    or_throw(output->append(r, bytes), "cannot write map output");
    context_.metrics.shuffle_write_bytes += static_cast<int64_t>(bytes.size());
  }
  context_.metrics.shuffle_write_records += records_;
  MapStatus status = or_throw(output->commit(), "cannot commit map output");
  status.records = records_;
  remove_runs();
  return {{}, std::move(status)};
}

void ShuffleWriter::remove_runs() {
  for (const Run& run : runs_) (void)context_.services->files().remove(run.path);
  runs_.clear();
}

}  // namespace tinderbox::core
