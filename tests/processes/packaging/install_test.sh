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
bash -n "$t/usr/share/bash-completion/completions/tinderbox"

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
