#!/bin/bash
# What `make install` puts: the links are roles, an outside application builds from Debian's packages and the
# installed tree alone and is every role, and `make uninstall` takes all of it away.
set -euo pipefail
cd "$(dirname "$0")/../../.."
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
die() { echo "install_test.sh: $*"; exit 1; }
unset MAKEFLAGS MAKELEVEL MFLAGS

make -s install PREFIX="$t/usr" SYSCONFDIR="$t/etc"
for link in spark-submit spark-class tinderbox-{submit,driver,executor,master,worker,init,history}; do
  [ "$(readlink "$t/usr/bin/$link")" = tinderbox ] || die "$link is not a link to tinderbox"
  [ $link = spark-class ] || "$t/usr/bin/$link" --help >"$t/help" 2>&1 || die "$link --help failed: $(cat "$t/help")"
done
version=$(sed -n 's/^VERSION := //p' Makefile)
grep -qF "$version" <("$t/usr/bin/tinderbox" version 2>&1) || die "tinderbox version does not say $version"
for unit in master worker; do
  exe=$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$t/usr/lib/systemd/system/tinderbox-$unit.service")
  [ -x "$exe" ] || die "tinderbox-$unit.service starts '$exe', which is no program"
  grep -q '^SuccessExitStatus=143$' "$t/usr/lib/systemd/system/tinderbox-$unit.service" || die "a stopped tinderbox-$unit counts as failed"
done
grep -rl '@[A-Z]*@' "$t/usr/lib/systemd" "$t/usr/lib/pkgconfig" "$t/usr/share/man" && die "a placeholder was left in these files"

# completes WORDS… : WANTED…: what the last word may become; it may be empty.
# shellcheck disable=SC1091  # the installed file
. "$t/usr/share/bash-completion/completions/tinderbox"
completes() {
  local word function
  COMP_WORDS=() COMPREPLY=()
  while [ "$1" != : ]; do COMP_WORDS+=("$1"); shift; done
  shift
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  function=$(complete -p "${COMP_WORDS[0]}" | sed -n 's/.* -F \([^ ]*\) .*/\1/p') || true
  [ -n "$function" ] || die "nothing completes ${COMP_WORDS[0]}"
  "$function"
  for word; do
    grep -qxF -- "$word" <(printf '%s\n' "${COMPREPLY[@]}") || die "'${COMP_WORDS[*]}' is not completed to $word but to: ${COMPREPLY[*]}"
  done
}
# options ROLE…: each long option that the role's help tells is completed.
options() {
  local role
  for role; do
    mapfile -t told < <("$t/usr/bin/tinderbox" "$role" --help 2>&1 | grep -oE '^  (-[a-zA-Z], ?)?--[a-zA-Z-]+' | grep -oE -e '--[a-zA-Z-]+' | grep -vxE -e '--(ip|usage-error)')
    [ "${#told[@]}" -gt 3 ] || die "$role --help tells only ${told[*]}"
    completes tinderbox "$role" -- : "${told[@]}"
  done
}
options submit run-example master worker driver executor init bench
# shellcheck disable=SC2046  # a list of words
completes tinderbox bench '' : $("$t/usr/bin/tinderbox" bench --help | sed -n 's/^Names: //p' | tr -d ,)
completes tinderbox run-example --master local pa : pagerank
completes tinderbox run-example --verbose -c a=b --name pi w : wordcount
completes tinderbox run-example p : pi pagerank
completes spark-submit --class w : wordcount
completes spark-class su : submit
completes spark-class org.apache.spark.deploy.worker.Worker --wo : --work-dir
completes tinderbox-master --ho : --host
cd /
completes tinderbox run-example pi et : etc
completes tinderbox run-example --name x pagerank et : etc
cd - >/dev/null

# An application of five lines, built in a folder of its own.
mkdir "$t/app"
cp tests/processes/packaging/outside.cpp "$t/app/"
cd "$t/app"
flags=$(PKG_CONFIG_PATH=$t/usr/lib/pkgconfig pkg-config --cflags --libs --static tinderbox)
case $flags in *"$OLDPWD"*) die "the installed tinderbox.pc points into the source tree: $flags" ;; esac
# shellcheck disable=SC2086  # a list of flags
g++ outside.cpp $flags -o outside 2>"$t/log" || { cat "$t/log"; die "an outside application does not build"; }
grep -qF "$version" <(./outside version 2>&1) || die "the outside application is not the role 'version'"
[ "$(./outside submit --master 'local[2]' --class outside ./outside 7 2>"$t/log")" = 28 ] ||
  { cat "$t/log"; die "the outside application does not sum 1…7 to 28"; }
cd - >/dev/null

make -s uninstall PREFIX="$t/usr" SYSCONFDIR="$t/etc"
left=$(find "$t/usr" -not -type d)
[ -z "$left" ] || die "uninstall left: $left"
