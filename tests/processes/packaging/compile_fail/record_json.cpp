// wants: cannot know that this class is its elements and nothing else: make it a container of the standard library
#include "core/api/tinderbox.hpp"
struct Json {  // a value is itself or a list of values
  using value_type = Json;
  double number = 0;
  std::vector<Json> list;
  Json() = default;
  explicit Json(double x) : number(x) {}
  size_t size() const { return 1; }
  const Json* begin() const { return this; }
  const Json* end() const { return this + 1; }
  void insert(const Json*, Json value) { list.push_back(std::move(value)); }
};
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](int64_t x) { return Json(static_cast<double>(x)); }).collect();  // MISTAKE
  (void)context;
}
