// Lesson 4b: the same kernel from a text template, here with the mustache engine.
#include <kainjow/mustache.hpp>

#include "examples/vector_add.h"

namespace mustache = kainjow::mustache;

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rtcg::runtime::Device device) {
    mustache::mustache body(
        "{{#steps}}\n"
        "  target[index + {{offset}}] = left[index + {{offset}}] + right[index + {{offset}}];\n"
        "{{/steps}}\n");
    mustache::data steps{mustache::data::type::list};
    for (int i = 0; i < vector_add::block_size; ++i) {
      steps << mustache::data{"offset", std::to_string(i * vector_add::thread_count)};
    }
    const std::string text = body.render(mustache::data{"steps", steps});
    return vector_add::run_and_check(device, {vector_add::frame(device.info().id.kind, text), {}});
  });
}
