#!/bin/bash
# Puts on this machine what one purpose needs, and nothing when all is there.
#   deploy/packages.sh build [FLAVOUR]   compiler, libraries, libzmq.a, httplib.h; prints Makefile variables
#   deploy/packages.sh test|lint|image|kubernetes|go   the packages of the tests, of lint, of the image build, of a cluster,
#                                        of what the tests build from Go modules
#   deploy/packages.sh spark             Apache Spark from PyPI and its Java, to compare with; prints its folder
#   deploy/packages.sh tables            DuckDB and Polars from PyPI, to compare with; prints the Python that has them
# FLAVOUR is plain, aarch64, asan, tsan or coverage.
# What Debian ships only as a shared or over-linked library is built from Debian's own source package into
# ${TINDERBOX_CACHE:-${XDG_CACHE_HOME:-~/.cache}/tinderbox}, keyed by version, compiler and flags.
set -euo pipefail

build_packages="g++ make pkg-config dpkg-dev ca-certificates cppzmq-dev libmsgpack-cxx-dev libcli11-dev
  libtomlplusplus-dev libspdlog-dev libfmt-dev catch2 libssl-dev nlohmann-json3-dev liblz4-dev libzstd-dev
  libxxhash-dev libabsl-dev zlib1g-dev libpugixml-dev libyaml-cpp-dev libboost-dev"
# What a cross build links, and what runs it here.
aarch64_packages="g++-aarch64-linux-gnu qemu-user-static libssl-dev:arm64 liblz4-dev:arm64 libzstd-dev:arm64
  libxxhash-dev:arm64 libabsl-dev:arm64 zlib1g-dev:arm64 libpugixml-dev:arm64 libyaml-cpp-dev:arm64"
test_packages="bible-kjv procps curl python3"
lint_packages="clang-tidy-16 clang-format-16"
# What compiles the sanitized builds and the one that counts branches.
clang_packages="clang-16 llvm-16 libclang-rt-16-dev"
image_packages="debootstrap buildah"
spark_packages="default-jre-headless python3-venv"
spark_version=4.3.0
tables_packages="python3-venv"
tables_versions="duckdb==2.0.1 polars==2.1.0"
# A node of Kubernetes; its program is built from Go modules.
kubernetes_packages="containerd runc containernetworking-plugins iproute2 iptables ipset openssl curl gcc libc6-dev procps
  util-linux"

purpose=${1:-build} flavour=${2:-plain}
cache=${TINDERBOX_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/tinderbox}
jobs=${JOBS:-$(nproc)}
scratch=
trap 'rm -rf "$scratch"' EXIT

say() { echo "packages.sh: $*" >&2; }
die() { say "$*"; exit 1; }

# Debian's compiler, which at least brings a newer one (tests/scripts/go.sh), where there is none.
go_package() { command -v go >/dev/null || echo golang-go; }

# Runs a command quietly; its output is shown only when it fails.
quietly() {
  local log status=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 || status=$?
  if [ $status != 0 ]; then tail -n 40 "$log" >&2; fi
  rm -f "$log"
  return $status
}

# The words of $@ that are not installed packages.
missing() {
  { dpkg-query -W -f '${Package} ${db:Status-Status}\n${Package}:${Architecture} ${db:Status-Status}\n' "$@" 2>/dev/null || true; } | sed -n 's/ installed$//p' | sort -u |
    comm -13 - <(printf '%s\n' "$@" | sort -u)
}

install_packages() {
  local wanted
  wanted=$(missing "$@" | tr '\n' ' ')
  [ -z "${wanted// /}" ] && return
  [ "$(id -u)" = 0 ] || die "these packages are missing: $wanted- run 'apt-get install $wanted' as root"
  say "installing $wanted"
  export DEBIAN_FRONTEND=noninteractive
  local apt="apt-get -q -y -o DPkg::Lock::Timeout=300"
  quietly $apt update || die "apt-get update failed: this machine's package sources cannot be read"
  # shellcheck disable=SC2086  # a list of words
  quietly $apt install --no-install-recommends $wanted || die "apt-get could not install $wanted"
}

# apt-get with the source side of this machine's own package sources, in $scratch.
source_apt() {
  apt-get -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$scratch/sources" \
    -o Dir::State::lists="$scratch/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
    -o APT::Sandbox::User="$(id -un)" "$@"
}

# Unpacks Debian's source package $1, in version $2 if the archive has it, to $scratch/$1.
fetch_source() {
  if [ ! -d "$scratch/lists" ]; then
    mkdir -p "$scratch/sources" "$scratch/lists/partial" "$scratch/fetched"
    local f
    for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
      [ -f "$f" ] && sed -n 's/^[[:space:]]*deb\([[:space:]]\)/deb-src\1/p' "$f" >"$scratch/sources/$(basename "$f" .list).list"
    done
    for f in /etc/apt/sources.list.d/*.sources; do
      [ -f "$f" ] && sed 's/^Types:.*/Types: deb-src/' "$f" >"$scratch/sources/$(basename "$f")"
    done
    # A third-party source without a deb-src side fails here and does no harm: what counts is the fetch below.
    quietly source_apt update || say "some package sources have no source side"
  fi
  cd "$scratch/fetched"
  quietly source_apt source --only-source "$1=$2" 2>/dev/null || quietly source_apt source --only-source "$1" ||
    die "cannot fetch Debian's source package $1: no package source of this machine offers it"
  mv "$scratch/fetched/$1"-*/ "$scratch/$1"
}

# Compiles libzmq with CURVE by its built-in tweetnacl and nothing beside libc into $1.
build_zmq() {
  local out=$1 src=$scratch/zeromq3
  say "building libzmq ($flavour)"
  fetch_source zeromq3 "$zmq_version"
  mkdir -p "$out/obj" "$out/include" "$out/lib"
  local have
  for have in ZMQ_IOTHREAD_POLLER_USE_EPOLL ZMQ_IOTHREAD_POLLER_USE_EPOLL_CLOEXEC ZMQ_POLL_BASED_ON_POLL \
    ZMQ_USE_CV_IMPL_PTHREADS ZMQ_HAVE_CURVE ZMQ_USE_TWEETNACL ZMQ_HAVE_GETRANDOM ZMQ_HAVE_IPC HAVE_FORK \
    HAVE_CLOCK_GETTIME HAVE_MKDTEMP HAVE_ACCEPT4 HAVE_STRNLEN HAVE_IF_NAMETOINDEX HAVE_POSIX_MEMALIGN \
    ZMQ_HAVE_LINUX ZMQ_HAVE_UIO ZMQ_HAVE_NOEXCEPT ZMQ_HAVE_EVENTFD ZMQ_HAVE_EVENTFD_CLOEXEC ZMQ_HAVE_IFADDRS \
    ZMQ_HAVE_SO_BINDTODEVICE ZMQ_HAVE_SO_PEERCRED ZMQ_HAVE_O_CLOEXEC ZMQ_HAVE_SOCK_CLOEXEC \
    ZMQ_HAVE_SO_KEEPALIVE ZMQ_HAVE_SO_PRIORITY ZMQ_HAVE_TCP_KEEPCNT ZMQ_HAVE_TCP_KEEPIDLE \
    ZMQ_HAVE_TCP_KEEPINTVL ZMQ_HAVE_TCP_KEEPALIVE ZMQ_HAVE_PTHREAD_SETNAME_2 ZMQ_HAVE_PTHREAD_SET_AFFINITY \
    ZMQ_HAVE_ATOMIC_INTRINSICS ZMQ_HAVE_THREADSAFE_STATIC_LOCAL_INIT; do
    echo "#define $have 1"
  done >"$src/src/platform.hpp"
  echo "#define ZMQ_CACHELINE_SIZE 64" >>"$src/src/platform.hpp"
  cp "$src"/include/*.h "$out/include/"
  local cc=${cxx%g++}gcc archive=${cxx%g++}ar
  case $cxx in clang++*) cc=${cxx/++/} archive=ar ;; esac
  local compile="$cxx $zmq_flags -D_GNU_SOURCE -D_REENTRANT -D_THREAD_SAFE -w -I$src/include -I$src/src"
  local f
  for f in "$src"/src/*.cpp "$src"/src/tweetnacl.c; do
    case $f in
      */ws_*.cpp | */wss_*.cpp) ;;  # the WebSocket transport, which needs a TLS library
      *.c) echo "${compile/$cxx/$cc} -c $f -o $out/obj/$(basename "$f").o" ;;
      *) echo "$compile -std=c++17 -c $f -o $out/obj/$(basename "$f").o" ;;
    esac
  done | quietly xargs -P "$jobs" -I CMD sh -c CMD || die "libzmq does not compile: see above"
  "$archive" crs "$out/lib/libzmq.a" "$out"/obj/*.o
  rm -r "$out/obj"
}

build_httplib() {
  fetch_source cpp-httplib "$1"
  mkdir -p "$2/include"
  cp "$scratch/cpp-httplib/httplib.h" "$2/include/"
}

# Calls "$2 $3… DIR" to fill the cache folder $1, unless it is there; a half-filled one is never seen under its name.
cached() {
  local dir=$cache/$1
  shift
  if [ ! -d "$dir" ]; then
    [ -n "$scratch" ] || scratch=$(mktemp -d)
    (set -e; "$@" "$scratch/out") || exit 1
    mv "$scratch/out" "$dir"
  fi
}

libraries() {
  cxx=${CXX:-g++}
  [ $flavour != coverage ] || flavour=plain cxx=g++  # the library is not what is measured
  zmq_flags="-O2 -ffunction-sections -fdata-sections"
  [ "$("$cxx" -dumpmachine | cut -d- -f1)" = x86_64 ] && zmq_flags+=" -march=x86-64-v2"
  case $flavour in
    plain | aarch64) ;;
    asan) zmq_flags="-O1 -g1 -fno-omit-frame-pointer -fsanitize=address" ;;
    tsan) zmq_flags="-O1 -g1 -fno-omit-frame-pointer -fsanitize=thread" ;;
    *) die "unknown flavour '$flavour': plain, aarch64, asan, tsan or coverage" ;;
  esac
  zmq_version=$(dpkg-query -W -f '${source:Version}' libzmq3-dev)
  local key stamp
  key=$( (echo "$zmq_version $zmq_flags"; "$cxx" --version; declare -f build_zmq) | sha256sum | cut -c1-12)
  stamp=$cache/stamp-$flavour-$key
  if [ ! -f "$stamp" ]; then
    mkdir -p "$cache"
    exec 9>"$cache/lock"
    flock 9
    if [ ! -f "$stamp" ]; then
      local http_version
      http_version=$(apt-cache policy libcpp-httplib-dev | sed -n 's/^ *Candidate: //p')
      cached "zeromq3-$zmq_version-$flavour-$key" build_zmq
      cached "cpp-httplib-${http_version:-any}" build_httplib "${http_version:-any}"
      {
        echo "ZMQ_DIR := $cache/zeromq3-$zmq_version-$flavour-$key"
        echo "HTTPLIB_DIR := $cache/cpp-httplib-${http_version:-any}"
      } >"$stamp.new"
      mv "$stamp.new" "$stamp"
    fi
  fi
  cat "$stamp"
}

spark() {
  local venv=$cache/pyspark-$spark_version
  if [ ! -x "$venv/bin/spark-submit" ]; then
    mkdir -p "$cache"
    python3 -m venv "$venv"
    quietly "$venv/bin/pip" install -q "pyspark==$spark_version" || die "pyspark $spark_version could not be installed from PyPI"
  fi
  echo "$venv"/lib/python3*/site-packages/pyspark
}

tables() {
  local venv=$cache/${tables_versions// /-}
  if [ ! -x "$venv/bin/python" ]; then
    mkdir -p "$cache"
    python3 -m venv "$venv.new"
    # shellcheck disable=SC2086  # a list of words
    quietly "$venv.new/bin/pip" install -q $tables_versions pyarrow || die "$tables_versions could not be installed from PyPI"
    rm -rf "$venv" && mv "$venv.new" "$venv"
  fi
  echo "$venv/bin/python"
}

[ -r /etc/debian_version ] || die "this is not a Debian system: the build takes its libraries from Debian's packages"
case $purpose in
  # shellcheck disable=SC2086  # lists of words
  build)
    install_packages $build_packages
    if [ "$flavour" = aarch64 ] && [ "$(uname -m)" != aarch64 ]; then
      dpkg --print-foreign-architectures | grep -qx arm64 || dpkg --add-architecture arm64
      install_packages $aarch64_packages
    fi
    case $flavour in asan | tsan | coverage) install_packages $clang_packages ;; esac
    libraries
    ;;
  test) install_packages $test_packages ;;
  lint) install_packages $lint_packages ;;
  image) install_packages $image_packages ;;
  spark)
    install_packages $spark_packages
    spark
    ;;
  tables)
    install_packages $tables_packages
    tables
    ;;
  kubernetes) install_packages $kubernetes_packages $(go_package) ;;
  go) install_packages $(go_package) ;;
  *) die "unknown purpose '$purpose': build, test, lint, image, spark, tables, kubernetes or go" ;;
esac
