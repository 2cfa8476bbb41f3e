// Where object stores are and as whom they are asked, from keys and the environment.
#pragma once

#include <map>
#include <string>

#include "conf/conf.hpp"
#include "conf/sources/environment.hpp"
#include "net/files/s3.hpp"

namespace tinderbox::core {

/// For one bucket: its own keys, those of all buckets, then AWS_*. Errors: conf::Error when there
/// are no credentials, or an endpoint is none. Source: hadoop-aws S3AUtils, with its default chain
/// of credentials as far as a process has them.
net::S3Access s3_access(const conf::Conf& conf, const conf::Environment& environment,
                        const std::string& bucket);

/// What the variables AWS_* say of all buckets and no key does, as keys: for executors, which have
/// another environment. Source: Spark 4.3 SparkHadoopUtil.appendS3CredentialsFromEnvironment.
std::map<std::string, std::string> s3_keys_of(const conf::Environment& environment,
                                              const conf::Conf& conf);

}  // namespace tinderbox::core
