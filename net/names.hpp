// Host names ↔ addresses, without libraries that a static program can't load.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/types.hpp"

namespace tinderbox::net {

/// First of all in main: lookups use /etc/hosts and DNS only, never the host's NSS modules, whose
/// version would have to be this program's.
void configure_names();

/// Numeric addresses of `host`, IPv4 first, without brackets: a number is its own answer,
/// `localhost` (and
/// `*.localhost`) needs neither file nor server, then /etc/hosts, then DNS. Blocks while DNS is
/// asked. Errors: what was asked and why there is no answer. Thread: any.
Result<std::vector<std::string>> resolve(const std::string& host);

/// Whether `host` is a number already, IPv4 or IPv6 without brackets.
bool is_address(const std::string& host);

/// Whether `text` has the form host:port or [v6]:port, the port a number up to 65535.
bool is_host_port(const std::string& text);

/// `host:port` (or `[v6]:port`) → the same with a numeric address. Errors: as resolve, or no such
/// form.
Result<std::string> resolve_address(const std::string& host_port);

/// IPv6 addresses in brackets, all else as it is.
std::string bracketed(const std::string& host);
std::string without_brackets(const std::string& host);

/// What uname says.
std::string host_name();
/// The address under which other machines reach this one: what /etc/hosts has for the host's own
/// name if that is no loopback address, else the first address of an interface that is up, neither
/// loopback nor link-local, IPv4 before IPv6; else 127.0.0.1. Never asks DNS. Source: Spark
/// Utils.findLocalInetAddress. (SPARK_LOCAL_IP and SPARK_LOCAL_HOSTNAME come first: conf.)
std::string local_host_address();

}  // namespace tinderbox::net
