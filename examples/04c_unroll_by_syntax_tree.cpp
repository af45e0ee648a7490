// Lesson 4c, and `make demo`: the same kernel as a syntax tree. One tree serves every device, it is
// checked before any compiler sees it, and a compiler's message would name the line below that
// built the text it refuses.
#include "examples/vector_add.h"

using namespace rtcg::cgen;
namespace rt = rtcg::runtime;

static Module make_kernel() {
  const auto target = param(restrict_pointer_to(f32), "target");
  const auto left = param(restrict_pointer_to(const_(f32)), "left");
  const auto right = param(restrict_pointer_to(const_(f32)), "right");
  const int step = vector_add::thread_count * vector_add::block_size;

  const auto index = declare(i32, "index", cast(i32, thread_idx_x + step * block_idx_x));
  BlockBuilder body;
  body << index;
  for (int i = 0; i < vector_add::block_size; ++i) {
    const Expr here = i == 0 ? Expr(index) : index + i * vector_add::thread_count;
    body << assign(target[here], left[here] + right[here]);
  }
  return {"vector_add", {kernel("add", {target, left, right}, body)}};
}

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    const Module module = make_kernel();
    const Dialect dialect = lesson::dialect_of(device);
    check_types(module);
    check_names(module, dialect);
    const rtcg::SourceText source = print_module(module, dialect);
    const bool is_right = vector_add::run_and_check(device, source);

    const rt::Program program = rt::Program::compile(device, source);
    for (const rt::KernelResources& kernel : program.resources()) {
      std::printf("%s: %s\n", kernel.name.c_str(), rt::to_string(kernel).c_str());
    }
    const auto add = program.function<float*, const float*, const float*>("add");
    const rt::Buffer<float> buffer(device, 3 * vector_add::n);
    const rt::Stream stream(device);
    const double milliseconds = rt::time_ms(stream, [&] {
      add(stream, {vector_add::block_count, vector_add::thread_count}, buffer,
          buffer + vector_add::n, buffer + 2 * vector_add::n);
    });
    std::printf("one launch takes %.4f ms\n", milliseconds);
    return is_right;
  });
}
