// The standard library's headers that most sources use. The build precompiles them for all sources
// of the library: parsing them was a fifth of its time. Each source includes what it uses all the
// same.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>
