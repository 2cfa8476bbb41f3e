#!/bin/bash
# The direction of includes and who may touch the world: cmd → core → {net, conf}; net and conf include only
# themselves; a folder of core includes only itself and those after it in `order`; only net/ talks to the
# network, the clock and processes. `tests/scripts/layers.sh [ROOT]`; without ROOT it also tests itself.
set -euo pipefail

# Prints one line per breach in the tree $1; fails if there is one.
check() {
  (cd "$1" && { find main.cpp cmd core net conf -name '*.[ch]pp' 2>/dev/null || true; } | sort | xargs -r awk '
    BEGIN {
      n = split("main cmd core/api core/backend core/executor core/scheduler core/deploy core/shuffle core/storage " \
                "core/status core/plan core/resources core", order, " ")
      for (i = 1; i <= n; i++) rank[order[i]] = i
      rank["net"] = rank["conf"] = n + 1
      world["header of a wire or TLS library"] = "^[ \t]*#[ \t]*include[ \t]*[<\"](zmq|msgpack|httplib|openssl/)"
      world["socket, process or name header"] = \
        "^[ \t]*#[ \t]*include[ \t]*<(sys/socket|sys/wait|sys/epoll|netinet/.*|arpa/.*|netdb|spawn|poll|ifaddrs|net/if)[.]h>"
      world["clock"] = "(system|steady|high_resolution|utc|file)_clock::now|clock_gettime|gettimeofday|(^|[^[:alnum:]_.>])time[(](nullptr|NULL|0)[)]"
      world["socket call"] = "(^|[^[:alnum:]_:.>])(::)?(socket|socketpair|accept4|getaddrinfo)[(]"
      world["process call"] = "(^|[^[:alnum:]_:.>])(::)?(v?fork|execl[ep]?|execv[ep]?|execvpe|fexecve|posix_spawnp?|popen|waitpid|(std::)?system)[(]"
      world["unseeded randomness"] = "random_device"
    }
    function top(path,   part) {  # the layer a path belongs to
      split(path, part, "/")
      if (path !~ /\//) return "main"
      if (part[1] == "core" && path ~ /^core\/.*\//) return "core/" part[2]
      return part[1]
    }
    function breach(what) { printf "%s:%d: %s\n", FILENAME, FNR, what; bad = 1 }
    FNR == 1 {
      from = top(FILENAME)
      if (!(from in rank)) breach("the folder " from " has no place in the order of layers")
    }
    { line = $0; sub(/\/\/.*/, "", line) }
    line ~ /^[ \t]*#[ \t]*include[ \t]*"/ {
      path = line; sub(/^[^"]*"/, "", path); sub(/".*/, "", path)
      to = top(path)
      if (to == "main" || path ~ /^\./) breach("\"" path "\" is not written from the top of the tree")
      else if (!(to in rank)) breach("\"" path "\" is in no layer")
      else if (from != to && (rank[from] >= rank[to])) breach(from " may not include " to)
    }
    # Object stores answer in XML.
    from != "conf" && !(from == "net" && line ~ /pugixml/) && line ~ /^[ \t]*#[ \t]*include[ \t]*[<"](toml|pugixml|yaml-cpp)/ {
      breach("header of a parser of files: only conf/ may use it")
    }
    from != "net" { for (w in world) if (line ~ world[w]) breach(w ": only net/ may use it") }
    END { exit bad }')
}

# Plants one breach after the other in a copy of a small lawful tree and sees each one caught.
self_test() {
  local t failed=0
  t=$(mktemp -d)
  trap "rm -rf '$t'" EXIT
  lawful() {
    rm -rf "${t:?}/tree"
    mkdir -p "$t"/tree/{cmd/apps,core/api,core/scheduler/dag,core/plan,net,conf}
    cd "$t/tree"
    echo '#include "cmd/roles/roles.hpp"' >main.cpp
    printf '#include "core/api/a.hpp"\n#include "conf/keys.hpp"\n#include "net/log.hpp"\n' >cmd/apps/pi.cpp
    printf '#include <vector>\n#include "core/plan/p.hpp"\n' >core/api/a.hpp
    printf '#include "core/scheduler/s.hpp"\n#include "core/machine.hpp"\n// a steady_clock::now() in a comment\nint fork_count(int); int n = fork_count(1);\n' >core/scheduler/dag/d.cpp
    echo '#include "net/types.hpp"' >core/machine.hpp
    printf '#include <zmq.hpp>\n#include "net/types.hpp"\nauto t = std::chrono::steady_clock::now();\n' >net/log.cpp
  }
  planted() {  # file, line of code
    lawful
    echo "$2" >>"$1"
    if check . >"$t/out"; then
      echo "layers.sh: self test: '$2' in $1 was not caught"
      failed=1
    fi
  }
  lawful
  check . || { echo "layers.sh: self test: a lawful tree was refused"; failed=1; }
  planted core/plan/p.hpp '#include "core/scheduler/s.hpp"'
  planted core/machine.hpp '#include "core/plan/p.hpp"'
  planted core/scheduler/dag/d.cpp '#include "core/api/a.hpp"'
  planted core/scheduler/dag/d.cpp '#include "d.hpp"'
  planted core/api/a.hpp '#include "../../net/log.hpp"'
  planted core/api/a.hpp '#include "cmd/roles/roles.hpp"'
  planted net/log.cpp '#include "core/plan/p.hpp"'
  planted net/log.cpp '#include "conf/keys.hpp"'
  planted conf/keys.hpp '  #  include "net/log.hpp"'
  mkdir -p "$t/tree/core/other" && echo 'int x;' >"$t/tree/core/other/x.hpp"
  (cd "$t/tree" && check . >/dev/null) && { echo "layers.sh: self test: a folder without a place was not caught"; failed=1; }
  planted cmd/apps/pi.cpp '#include <msgpack.hpp>'
  planted conf/keys.hpp '#include <openssl/sha.h>'
  planted core/api/a.hpp '#include <pugixml.hpp>'
  planted core/api/a.hpp '#include <yaml-cpp/yaml.h>'
  planted net/log.cpp '#include <toml++/toml.h>'
  planted core/api/a.hpp '#include <sys/socket.h>'
  planted core/api/a.hpp 'auto now = std::chrono::system_clock::now();'
  planted core/api/a.hpp 'auto now = time(nullptr);'
  planted core/scheduler/dag/d.cpp 'int s = ::socket(1, 2, 3);'
  planted cmd/apps/pi.cpp '  if (fork() == 0) execv(a, b);'
  planted cmd/apps/pi.cpp 'std::mt19937 random(std::random_device{}());'
  return $failed
}

if [ $# -gt 0 ]; then
  check "$1"
else
  check "$(dirname "$0")/../.." && self_test
fi
