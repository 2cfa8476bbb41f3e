#include "core/plan/references.hpp"

namespace tinderbox::core {
namespace {

thread_local Holding* innermost = nullptr;

}  // namespace

Holding::Holding(References& held) : held_(held), outer_(innermost) { innermost = this; }
Holding::~Holding() { innermost = outer_; }

void Holding::note(const std::shared_ptr<const void>& what) {
  for (Holding* each = what ? innermost : nullptr; each; each = each->outer_)
    each->held_.all.push_back(what);
}

}  // namespace tinderbox::core
