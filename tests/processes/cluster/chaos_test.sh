#!/usr/bin/env bash
# Three minutes of tests/chaos/chaos.sh.
MINUTES=${MINUTES:-3} exec "$(dirname "$0")/../../chaos/chaos.sh"
