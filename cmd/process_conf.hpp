// What all roles share on their command lines: settings, --help, and another ELF to run instead.
#pragma once

#include <string>
#include <vector>

#include "cmd/command_line.hpp"
#include "conf/conf.hpp"
#include "conf/sources/environment.hpp"

namespace tinderbox::cmd {

struct ProcessConfOptions {
  std::string properties_file;
  std::vector<std::string> settings;  // K=V
};

/// Adds --properties-file and --conf; `conf_option` where a role gives -c another meaning.
void declare_process_conf(CommandLine& line, ProcessConfOptions& options,
                          const std::string& conf_option = "-c,--conf");
/// Environment (what `scope` reads) < file < --conf. The file: the named one, else, with
/// `default_file`, this machine's. Errors: conf::Error. Warnings go to stderr.
conf::Conf process_conf(const ProcessConfOptions& options, conf::Scope scope = conf::Scope::kNode,
                        bool default_file = true);
/// One line on stderr for each misspelt key, unless submit or a worker passed the settings on:
/// whoever gave them was told.
void warn_of_misspellings(const conf::Conf& conf, const ProcessConfOptions& options);
/// Under which name or address others reach this process: SPARK_LOCAL_IP, else what the host has.
std::string advertised_host(const conf::Conf& conf);
/// Fetches `elf` when it is a URL, and becomes it, in the same role with the same arguments.
/// Returns when it is this program's own build. Errors: conf::Error.
void exec_other(const std::string& role, const std::string& elf, Args args);

}  // namespace tinderbox::cmd
