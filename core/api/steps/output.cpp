#include "core/api/steps/output.hpp"

#include <cstdio>
#include <stdexcept>

#include "conf/conf.hpp"
#include "conf/keys.hpp"
#include "core/api/runtime/input_paths.hpp"
#include "core/api/steps/action.hpp"
#include "core/plan/or_throw.hpp"
#include "net/log.hpp"
#include "net/wire/task_messages.hpp"

namespace tinderbox::core {
namespace {

constexpr char kTemporary[] = "/_temporary";

/// Whether attempts write beside the output and move their parts there. An object store shows a
/// file only once it is committed, so there they write in place.
bool parts_move(const std::string& directory) {
  return net::place_of(directory) == net::Place::Disk;
}

std::string padded(const char* format, int64_t a) {
  char text[32];
  std::snprintf(text, sizeof text, format, static_cast<long long>(a));
  return text;
}

}  // namespace

std::string part_name(int32_t partition) { return padded("part-%05lld", partition); }

OutputDirectory::OutputDirectory(Context& context, const std::string& path)
    : context_(context), path_(or_throw(file_path(path), "Cannot save")) {
  net::Files& files = context_.runtime().files();
  const std::string saving = "Cannot save to " + shown_path(path_);
  if (net::place_of(path_) == net::Place::Web)
    throw std::runtime_error(saving + ": web servers are only read; name a path or an s3a: URL");
  if (context_.runtime().conf().get(conf::kValidateOutputSpecs) &&
      or_throw(files.stat(path_), saving))
    throw std::runtime_error("Output directory " + shown_path(path_) +
                             " already exists; remove it or name another one");
  or_throw(files.make_directories(path_ + kTemporary), saving);
}

void OutputDirectory::commit() {
  net::Files& files = context_.runtime().files();
  const std::string finishing = "Cannot finish " + shown_path(path_);
  sweep();
  auto marker = or_throw(files.create(path_ + "/_SUCCESS"), finishing);
  or_throw(marker->commit(), finishing);
}

void OutputDirectory::abort() { sweep(); }

void OutputDirectory::sweep() {
  const auto warn_unless = [](const auto& swept) {
    if (!swept) net::log(net::Level::Warn, "Output", swept.error().message);
  };
  net::Files& files = context_.runtime().files();
  // Attempts that lost may still be writing; a store may let its users write, but not list uploads.
  if (parts_move(path_))
    warn_unless(files.remove_tree(path_ + kTemporary));
  else
    warn_unless(files.discard_uncommitted(path_));
}

PartFile::PartFile(const std::string& directory, TaskContext& context, net::Compression how)
    : context_(context), how_(how) {
  const std::string part = "/" + part_name(context.partition) + std::string(net::suffix_of(how));
  final_path_ = attempt_path_ = directory + part;
  if (parts_move(directory)) {
    attempt_directory_ = directory + kTemporary + "/attempt_" +
                         std::to_string(context.stage.value) +
                         padded("_%06lld_", context.partition) + std::to_string(context.id.value);
    attempt_path_ = attempt_directory_ + part;
    net::Files& files = context.services->files();
    // An attempt that outlives its job must not make again what that has removed.
    if (!or_throw(files.stat(directory + kTemporary), "Cannot write " + attempt_path_))
      throw std::runtime_error("Cannot write " + attempt_path_ + ": the save is over");
    or_throw(files.make_directories(attempt_directory_), "Cannot write " + attempt_path_);
  }
  file_ =
      or_throw(context.services->files().create(attempt_path_), "Cannot write " + attempt_path_);
}

PartFile::~PartFile() {
  file_.reset();
  if (!attempt_directory_.empty()) (void)context_.services->files().remove_tree(attempt_directory_);
}

void PartFile::flush() {
  // Of no records too there is a member: a file without any is not valid.
  const bool compresses = how_ != net::Compression::None;
  if (compresses && (!buffer_.empty() || file_->size() == 0))
    buffer_ = net::compressed(how_, buffer_);
  or_throw(file_->append(buffer_), "Cannot write " + attempt_path_);
  context_.metrics.output_bytes += static_cast<int64_t>(buffer_.size());
  buffer_.clear();
}

void PartFile::commit() {
  flush();
  const bool moves = attempt_path_ != final_path_;
  if (moves) or_throw(file_->commit(), "Cannot write " + attempt_path_);
  check_killed(context_);
  if (!context_.services->may_commit({0, context_.stage, context_.stage_attempt, context_.partition,
                                      context_.attempt, context_.id})) {
    check_killed(context_);
    throw CommitDeniedException{context_.stage, context_.partition, context_.attempt};
  }
  if (moves)
    or_throw(context_.services->files().rename(attempt_path_, final_path_),
             "Cannot move " + attempt_path_);
  else
    or_throw(file_->commit(), "Cannot write " + final_path_);
  context_.metrics.output_records += lines_;
}

void fail_empty() { throw std::domain_error("empty collection"); }

void fail_result() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const NotSerializableException&) {
    throw;
  } catch (const std::exception& e) {
    throw NotSerializableException(e.what());
  } catch (...) {
    throw NotSerializableException("what was thrown has no message");
  }
}

std::vector<int32_t> partition_range(int32_t from, int32_t to) {
  std::vector<int32_t> partitions(static_cast<size_t>(std::max(to - from, 0)));
  std::iota(partitions.begin(), partitions.end(), from);
  return partitions;
}

std::vector<int32_t> all_partitions(const Node& node) {
  return partition_range(0, node.num_partitions);
}

}  // namespace tinderbox::core
