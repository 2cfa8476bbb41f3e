// Every message on the wire, by conversation and direction. Plain aggregates; net/wire/codec
// reflects their fields. Compatibility: alternatives and fields are only appended, appended fields
// have defaults. The values of an enum run from 0 to its last_value(), which stands beside it; the
// codec refuses others.
#pragma once

#include "net/wire/block_messages.hpp"
#include "net/wire/cluster_messages.hpp"
#include "net/wire/task_messages.hpp"
