#include "rtcg/dg/operators/checkpoint.h"

#include <cstdint>
#include <cstdio>
#include <fstream>

#include <fmt/format.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::dg::detail {
namespace {

// Of all that decides what the numbers of a state mean.
std::uint64_t hash_of(const Mesh& mesh) {
  std::uint64_t hash = 14695981039346656037ULL;
  const auto add = [&](const void* data, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
      hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211ULL;
    }
  };
  add(mesh.vertices.data(), mesh.vertices.size() * sizeof(Point));
  add(mesh.elements.data(), mesh.elements.size() * sizeof(mesh.elements[0]));
  return hash;
}

}  // namespace

std::string checkpoint_head(const System& system, const Discretization& on,
                            const cgen::Type& real) {
  return fmt::format("rtcg dg checkpoint 2: '{}' with {}, order {}, {} elements, mesh {:016x}, {}",
                     system.name, fmt::join(system.fields, " "), on.element.order,
                     on.element_count(), hash_of(on.mesh), real == cgen::f32 ? "f32" : "f64");
}

void write_checkpoint(const std::string& path, const std::string& head,
                      const Checkpoint& checkpoint) {
  const std::string unfinished = path + ".unfinished";
  std::ofstream file(unfinished, std::ios::binary);
  file << head << '\n'
       << fmt::format("{:a} {} {:a} {:a} {:a} {}\n", checkpoint.time, checkpoint.steps,
                      checkpoint.plan.end, checkpoint.plan.courant, checkpoint.plan.time_step,
                      checkpoint.plan.steps_left);
  file.write(reinterpret_cast<const char*>(checkpoint.state.data()),
             static_cast<std::streamsize>(checkpoint.state.size()));
  file.close();
  if (!file || std::rename(unfinished.c_str(), path.c_str()) != 0) {
    throw InvalidInput("dg.checkpoint.unwritable",
                       fmt::format("the checkpoint '{}' cannot be written", path));
  }
}

Checkpoint read_checkpoint(const std::string& path, const std::string& head,
                           std::size_t state_bytes) {
  const auto unreadable = [&](const char* what) {
    return InvalidInput("dg.checkpoint.unreadable",
                        fmt::format("the checkpoint '{}' {}", path, what));
  };
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw unreadable("cannot be opened");
  }
  std::string found;
  std::string numbers;
  if (!std::getline(file, found) || found.rfind("rtcg dg checkpoint", 0) != 0) {
    throw unreadable("is none");
  }
  if (found != head) {
    throw InvalidInput(
        "dg.checkpoint.mismatch",
        fmt::format("the checkpoint '{}' is of another run: '{}', not '{}'", path, found, head));
  }
  Checkpoint checkpoint;
  if (!std::getline(file, numbers) ||
      std::sscanf(numbers.c_str(), "%la %lld %la %la %la %lld", &checkpoint.time, &checkpoint.steps,
                  &checkpoint.plan.end, &checkpoint.plan.courant, &checkpoint.plan.time_step,
                  &checkpoint.plan.steps_left) != 6) {
    throw unreadable("is torn");
  }
  const std::string rest{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto* bytes = reinterpret_cast<const std::byte*>(rest.data());
  checkpoint.state.assign(bytes, bytes + rest.size());
  if (checkpoint.state.size() != state_bytes) {
    throw unreadable("is torn");
  }
  return checkpoint;
}

}  // namespace rtcg::dg::detail
