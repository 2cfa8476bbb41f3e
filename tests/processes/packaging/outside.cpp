// An application outside the tree's own build: prints the sum 1 + 2 + … + N. It asks for a setting
// and the status and hears events, too, with the one header that an application includes.
#include <iostream>
#include <tinderbox.hpp>

struct Heard : tinderbox::core::Listener {
  void on_events(std::span<const tinderbox::core::ListenerEvent> events) override {
    count += events.size();
  }
  std::atomic<size_t> count = 0;
};

static int sum_up_to(tinderbox::Context& context, std::span<const std::string> args) {
  context.add_listener(std::make_shared<Heard>());
  auto numbers = context.range(1, std::stoll(args[0]) + 1);
  if (context.conf().find("spark.app.id") == std::nullopt) return 1;
  if (!context.status_tracker().active_job_ids().empty()) return 1;
  std::cout << numbers.reduce([](int64_t a, int64_t b) { return a + b; }) << "\n";
  return 0;
}
TINDERBOX_APPLICATION(outside, "sum 1 + 2 + … + N: N", sum_up_to);
