// Lesson 2: a struct that host and kernel share. The kernel's text has the layout that the C++
// compiler gave the struct, and the device's compiler is asked whether it agrees.
#include <vector>

#include "examples/lesson.h"

using namespace rtcg::cgen;
namespace rt = rtcg::runtime;

struct Particle {
  double mass;
  float position[3];
  unsigned char charge;
};

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    const LaidOutStruct particle = StructBuilder<Particle>("particle")
                                       .field("mass", &Particle::mass)
                                       .field("position", &Particle::position)
                                       .field("charge", &Particle::charge)
                                       .build();
    const auto particles = param(pointer_to(particle.type), "particles");
    const Expr mine = particles[thread_idx_x + block_dim_x * block_idx_x];
    const Module module{"lesson",
                        {particle.definition, layout_kernel(particle),
                         kernel("move", {particles},
                                BlockBuilder() << add_assign(mine.member("position")[0], 1.0f)
                                               << multiply_assign(mine.member("mass"), 2.0))}};
    check_types(module);
    const Dialect dialect = lesson::dialect_of(device);
    std::printf("%s\n", print_statement(particle.definition, dialect).c_str());

    const rt::Program program = rt::Program::compile(device, module);  // in the device's language
    const std::vector<std::int32_t> expected = expected_layout(particle);
    const rt::Buffer<std::int32_t> found(device, expected.size());
    const auto layout = program.function<std::int32_t*>("particle_layout");
    layout(device.default_stream(), {1, 1}, found);
    const bool same_layout = found.to_vector() == expected;
    std::printf("the device's compiler %s\n", same_layout ? "agrees" : "DISAGREES");

    const rt::Buffer<Particle> buffer(device, std::vector<Particle>(8, {1.5, {1, 2, 3}, 7}));
    const auto move = program.function<Particle*>("move");
    move(device.default_stream(), {2, 4}, buffer);
    const Particle last = buffer.to_vector().back();
    std::printf("mass %g, position %g %g %g, charge %d\n", last.mass, last.position[0],
                last.position[1], last.position[2], last.charge);
    return same_layout && last.mass == 3 && last.position[0] == 2 && last.charge == 7;
  });
}
