// Lesson 4a: a vector addition in which each thread adds `block_size` elements, unrolled by
// replacing keywords in a line of text.
#include "examples/vector_add.h"

static std::string replaced(std::string text, const std::string& keyword,
                            const std::string& value) {
  for (std::size_t at = text.find(keyword); at != std::string::npos; at = text.find(keyword, at)) {
    text.replace(at, keyword.size(), value);
  }
  return text;
}

static std::string text_for(rtcg::runtime::BackendKind kind) {
  const std::string line =
      "  target[index + OFFSET] = left[index + OFFSET] + right[index + OFFSET];\n";
  std::string body;
  for (int i = 0; i < vector_add::block_size; ++i) {
    body += replaced(line, "OFFSET", std::to_string(i * vector_add::thread_count));
  }
  return vector_add::frame(kind, body);
}

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rtcg::runtime::Device device) {
    return vector_add::run_and_check(device, {text_for(device.info().id.kind), {}});
  });
}
