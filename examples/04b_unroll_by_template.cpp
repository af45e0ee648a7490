// Lesson 4b: the same kernel from a text template, here with the mustache engine.
#include <kainjow/mustache.hpp>

#include "examples/vector_add.h"

namespace mustache = kainjow::mustache;

static std::string text_for(rtcg::runtime::BackendKind kind) {
  mustache::mustache body(
      "{{#steps}}\n"
      "  target[index + {{offset}}] = left[index + {{offset}}] + right[index + {{offset}}];\n"
      "{{/steps}}\n");
  mustache::data steps{mustache::data::type::list};
  for (int i = 0; i < vector_add::block_size; ++i) {
    steps << mustache::data{"offset", std::to_string(i * vector_add::thread_count)};
  }
  return vector_add::frame(kind, body.render(mustache::data{"steps", steps}));
}

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rtcg::runtime::Device device) {
    return vector_add::run_and_check(device, {text_for(device.info().id.kind), {}});
  });
}
