// A task reads a setting of its application.
#pragma once

#include "conf/conf.hpp"
#include "core/plan/tasks/task.hpp"
#include "core/shuffle/blocks/block.hpp"

namespace tinderbox::core {

/// The value of `key` as the driver resolved it, or its default.
/// Errors: throws conf::Error when it is malformed.
template <class T>
T task_setting(const TaskServices& services, const conf::Key<T>& key) {
  const std::string name(key.spec.name);
  const auto text = services.property(name);
  return (text ? conf::Conf::of({{name, *text}}) : conf::Conf{}).get(key);
}

/// By the codec of the application's conf. Errors: as above.
PieceFormat piece_format(const TaskServices& services);
/// The same, or none at all: `whether` says it.
PieceFormat piece_format(const TaskServices& services, const conf::Key<bool>& whether);

}  // namespace tinderbox::core
