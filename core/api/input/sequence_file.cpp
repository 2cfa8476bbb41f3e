#include "core/api/input/sequence_file.hpp"

#include <stdexcept>

#include "core/plan/or_throw.hpp"

namespace tinderbox {
namespace core {
namespace {

std::string pair_of(std::string_view key, std::string_view value) {
  return std::string(key) + " and " + std::string(value);
}

/// How to read what there is.
std::string advice(std::string_view key_class, std::string_view value_class) {
  const std::string key(type_of_class(key_class)), value(type_of_class(value_class));
  if (key.empty() || value.empty())
    return "no type is read from " + std::string(key.empty() ? key_class : value_class) +
           ", write one of Hadoop's basic Writable classes instead";
  return "read it by sequence_file<" + key + ", " + value + ">()";
}

SequenceHeader header_for(std::string_view key_class, std::string_view value_class,
                          net::Compression how) {
  const bool plain = how == net::Compression::None;
  return {std::string(key_class), std::string(value_class),
          plain ? SequenceHeader::Layout::Plain : SequenceHeader::Layout::Blocks, how,
          random_marker()};
}

}  // namespace

SequencePart::SequencePart(const std::string& directory, std::string_view key_class,
                           std::string_view value_class, net::Compression how, TaskContext& context)
    : file_(directory, context), writer_(file_.buffer(), header_for(key_class, value_class, how)) {}

void SequencePart::commit() {
  writer_.finish();
  file_.commit();
}

void require_sequence_codec(net::Compression how) {
  if (how == net::Compression::Zstd)
    throw std::invalid_argument(
        "Sequence files are not written by ZStandardCodec, which Hadoop has only with its native "
        "library: choose Compression::Deflate, Gzip or None");
}

SequenceSplit::SequenceSplit(const InputSplit& split, TaskContext& context)
    : context_(context), path_(split.path), reader_(context.services->files(), split) {}

std::optional<SequenceRecord> SequenceSplit::next() {
  auto record = reader_.next();
  if (record) ++uncounted_records_;
  return record;
}

void SequenceSplit::count() {
  context_.metrics.input_bytes += reader_.bytes_read() - counted_bytes_;
  context_.metrics.input_records += uncounted_records_;
  counted_bytes_ = reader_.bytes_read();
  uncounted_records_ = 0;
}

void SequenceSplit::fail_classes(std::string_view key_class, std::string_view value_class) const {
  const auto& [key, value] = std::tie(header().key_class, header().value_class);
  throw std::invalid_argument("'" + path_ + "' holds " + pair_of(key, value) + ", not " +
                              pair_of(key_class, value_class) +
                              " as was asked for: " + advice(key, value));
}

}  // namespace core

std::vector<Bytes> Context::sequence_splits(const std::string& path, int32_t min_partitions) {
  if (min_partitions == 0) min_partitions = default_min_partitions();
  std::vector<Bytes> splits;
  for (const auto& split : core::splits_of(runtime_, path, min_partitions, true))
    splits.push_back(core::to_bytes(split));
  return splits;
}

}  // namespace tinderbox
