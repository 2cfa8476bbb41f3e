// The role table: argv[0] (a link), argv[1] or SPARK_K8S_CMD picks a line, the line's function
// runs.
#include "cmd/dispatch.hpp"
#include "cmd/roles/roles.hpp"

namespace cmd = tinderbox::cmd;

constexpr cmd::Role kRoles[] = {
    {"submit", "send an application to a cluster, or run it here", cmd::submit},
    {"driver", "run an application's main and its scheduler", cmd::driver},
    {"executor", "run tasks of one application", cmd::executor},
    {"master", "give workers' cores and memory to applications", cmd::master},
    {"worker", "offer this machine's cores and memory to a master", cmd::worker},
    {"init", "fetch an application's dependencies into a directory", cmd::init},
    {"history", "the place of the history server, which is not here yet", cmd::history},
    {"decommission", "tell an executor to end and wait: a pod's preStop hook", cmd::decommission},
    {"run-example", "submit a built-in application by its name", cmd::run_example},
    {"bench", "measure this build: BENCH name value unit", cmd::bench},
    {"version", "print the version", cmd::version},
};

int main(int argc, char** argv) { return cmd::dispatch(kRoles, {argv, argv + argc}); }
