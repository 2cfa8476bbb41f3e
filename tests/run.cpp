// The main of the unit tests: build/tests/run.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
