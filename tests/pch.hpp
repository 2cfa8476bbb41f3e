// Precompiled for every test file: Catch2 and what the library's sources precompile.
#pragma once
#include <catch2/catch.hpp>

#include "net/standard.hpp"
