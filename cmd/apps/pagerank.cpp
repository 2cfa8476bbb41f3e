// pagerank EDGES ITERATIONS: ranks pages by the links between them; EDGES has a line `FROM TO` a
// link.
#include <cstdio>
#include <span>
#include <stdexcept>

#include "core/api/tinderbox.hpp"

namespace tinderbox::cmd {
namespace {

using Link = std::pair<std::string, std::string>;
using Rank = std::pair<std::string, double>;

int run_pagerank(Context& context, std::span<const std::string> args) {
  if (args.size() != 2) {
    throw std::invalid_argument("pagerank takes EDGES ITERATIONS, but got " +
                                std::to_string(args.size()) + " arguments");
  }
  const int64_t iterations = positive_argument(args[1], "pagerank takes EDGES ITERATIONS");
  auto links = context.text_file(args[0])
                   .flat_map<Link>([](std::string_view line, auto& emit) {
                     std::vector<std::string> ends;
                     words(line, [&](std::string_view word) { ends.emplace_back(word); });
                     if (ends.empty()) return;
                     if (ends.size() == 1)
                       throw std::invalid_argument("'" + ends[0] +
                                                   "' is no edge; a line of EDGES is FROM TO");
                     emit(Link(std::move(ends[0]), std::move(ends[1])));
                   })
                   .distinct()
                   .group_by_key();
  links.cache();
  auto ranks = links.map_values([](const auto&) { return 1.0; });
  for (int64_t i = 0; i < iterations; ++i) {
    ranks = links.join(ranks)
                .values()
                .flat_map<Rank>([](const auto& page, auto& emit) {
                  const auto& [targets, rank] = page;
                  for (const auto& target : targets)
                    emit(Rank(target, rank / static_cast<double>(targets.size())));
                })
                .reduce_by_key([](double a, double b) { return a + b; })
                .map_values([](double sum) { return 0.15 + 0.85 * sum; });
  }
  for (const auto& [page, rank] : ranks.sort_by_key().collect())
    std::printf("%s has rank: %.6f.\n", page.c_str(), rank);
  return 0;
}

TINDERBOX_APPLICATION(pagerank, "rank pages by their links: EDGES ITERATIONS", run_pagerank);

}  // namespace
}  // namespace tinderbox::cmd
