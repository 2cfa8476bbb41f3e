// A program run to its end for what it prints.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "net/types.hpp"

namespace tinderbox::net {

/// Where the program `file` is: without a slash the first of that name in PATH; as it is when there
/// is none.
std::string found_in_path(const std::string& file);

/// Starts `file`, waits for its end, returns its stdout; stdin is empty, stderr is this process's,
/// and so is the environment, beside `variables`. Without a slash `file` is looked for in PATH.
/// Errors: it could not be started, or ended with another code than 0. Thread: any.
Result<std::string> run_and_read(const std::string& file, const std::vector<std::string>& argv,
                                 const std::map<std::string, std::string>& variables = {});

}  // namespace tinderbox::net
