// connected_components EDGES: for every node the least node that it is connected with; EDGES has a
// line `A B` an edge. Each node tells its neighbours the least that it knows, until nobody learns
// anything.
#include <algorithm>
#include <charconv>
#include <iostream>
#include <stdexcept>
#include <tinderbox.hpp>

using Edge = std::pair<int64_t, int64_t>;

static Edge parse_edge(std::string_view line) {
  int64_t ends[2] = {};
  size_t n = 0;
  tinderbox::words(line, [&](std::string_view word) {
    const char* stop = word.data() + word.size();
    const bool number = n < 2 && std::from_chars(word.data(), stop, ends[n]).ptr == stop;
    n = number ? n + 1 : 3;
    return true;
  });
  if (n != 2) throw std::invalid_argument("'" + std::string(line) + "' is no edge; it is `A B`");
  return {ends[0], ends[1]};
}

static int run(tinderbox::Context& context, std::span<const std::string> args) {
  if (args.size() != 1) throw std::invalid_argument("connected_components takes EDGES");
  const auto least = [](int64_t a, int64_t b) { return std::min(a, b); };
  const auto neighbours = context.text_file(args[0])
                              .flat_map<Edge>([](std::string_view line, auto& emit) {
                                const auto [a, b] = parse_edge(line);
                                emit(Edge(a, b));
                                emit(Edge(b, a));
                              })
                              .distinct()
                              .group_by_key();
  neighbours.cache();
  // node -> (the least it knows, whether that is news)
  auto known =
      neighbours
          .flat_map<Edge>([](const auto& node, auto& emit) { emit(Edge(node.first, node.first)); })
          .partition_by(*neighbours.partitioner());
  for (bool news = true; news;) {
    const auto told = neighbours.join(known).flat_map<Edge>([](const auto& node, auto& emit) {
      const auto& [who, what] = node;
      emit(Edge(who, what.second));
      for (const int64_t neighbour : what.first) emit(Edge(neighbour, what.second));
    });
    const auto next = told.reduce_by_key(least);
    next.cache();
    news = !next.join(known)
                .filter([](const auto& node) { return node.second.first != node.second.second; })
                .is_empty();
    known.unpersist();
    known = next;
  }
  for (const auto& [node, component] : known.sort_by_key().collect())
    std::cout << node << " " << component << "\n";
  return 0;
}
TINDERBOX_APPLICATION(connected_components, "the component of each node: EDGES", run);
