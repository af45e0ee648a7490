// Files that other programs, other runs or other machines left: meshes, wisdom, checkpoints,
// entries of the cache, packs.
#include <cstring>
#include <fstream>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/mesh/connectivity.h"
#include "rtcg/dg/mesh/read_gmsh.h"
#include "rtcg/dg/operators/checkpoint.h"
#include "rtcg/loopy.h"
#include "rtcg/loopy/tune/kernel_pack.h"
#include "rtcg/loopy/tune/wisdom.h"
#include "rtcg/runtime/compile/cache_entry.h"
#include "tests/campaigns/campaign.h"
#include "tests/campaigns/mutate.h"
#include "tests/dg/mesh/write_gmsh.h"

namespace rtcg::campaigns {
namespace {

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// A file of its own for each process that runs cases.
std::string own_file(const Places& places, const std::string& name) {
  return fmt::format("{}/{}_{}", places.folder, name, ::getpid());
}

Kind meshes() {
  using dg::testing::GmshMode;
  std::vector<std::string> seeds;
  for (const GmshMode mode : {GmshMode::text, GmshMode::binary, GmshMode::swapped}) {
    seeds.push_back(dg::testing::square_41(mode));
    seeds.push_back(dg::testing::square_22(mode));
  }
  seeds.emplace_back(
      "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n"
      "$EndNodes\n$Elements\n1\n1 4 2 1 1 1 2 3 4\n$EndElements\n$Periodic\n1\n0 1 2\n1\n1 2\n"
      "$EndPeriodic\n");
  const auto mutator = std::make_shared<Mutator>(seeds);
  return {"meshes", "files of Gmsh 2.2 and 4.1, text and binary, mutated: read and connected",
          [mutator](Draw& draw) { return mutator->make(draw); },
          [](const std::string& input) {
            const dg::Mesh mesh = dg::parse_gmsh(input, "mutated.msh");
            if (mesh.elements.empty()) {
              throw Finding("a mesh without elements was read");
            }
            for (const auto& element : mesh.elements) {
              for (int i = 0; i <= mesh.dimension; ++i) {
                const auto vertex = element[static_cast<std::size_t>(i)];
                if (vertex < 0 || static_cast<std::size_t>(vertex) >= mesh.vertices.size()) {
                  throw Finding(
                      fmt::format("an element has vertex {} of {}", vertex, mesh.vertices.size()));
                }
              }
            }
            static_cast<void>(dg::find_connectivity(mesh));
          }};
}

loopy::Kernel twice() {
  return loopy::make_kernel("{[i]: 0 <= i < n}", "y[i] = 2*x[i]", {.default_type = cgen::f32});
}

Kind wisdom(const Places& places) {
  const std::string path = places.folder + "/seed.jsonl";
  const loopy::Wisdom seed(path);
  loopy::WisdomEntry entry{
      loopy::kernel_key(twice()), "host device", "host", {{"n", 300}}, "i: g.0 l.0*32", 12.5};
  seed.add(entry);
  entry.parameters["n"] = 1000;
  entry.decision = "i: for for*8; layout x order 0";
  seed.add(entry);
  const auto mutator = std::make_shared<Mutator>(std::vector<std::string>{read_file(path)});
  return {"wisdom", "files of wisdom, mutated: read, and a slicing looked up",
          [mutator](Draw& draw) { return mutator->make(draw); },
          [places](const std::string& input) {
            const std::string file = own_file(places, "wisdom.jsonl");
            write_file(file, input);
            const loopy::Wisdom wisdom(file);
            for (const loopy::WisdomEntry& each : wisdom.entries()) {
              static_cast<void>(loopy::lays_out_only(each.decision, {}));
            }
            wisdom.check();
          }};
}

Kind checkpoints(const Places& places) {
  const std::string path = places.folder + "/seed.checkpoint";
  const std::string head = "rtcg dg checkpoint 3: 'advection' with u, order 3, 2 elements, f64";
  dg::detail::Checkpoint checkpoint{0.125, 10, {1.5, 0.5, 0.0125, 110}, {}};
  checkpoint.state.resize(160, std::byte(0x3f));
  dg::detail::write_checkpoint(path, head, checkpoint);
  const auto mutator = std::make_shared<Mutator>(std::vector<std::string>{read_file(path)});
  return {"checkpoints", "checkpoints of dg, mutated: none but the one that was written is taken",
          [mutator](Draw& draw) { return mutator->make(draw); },
          [places, head, whole = read_file(path)](const std::string& input) {
            const std::string file = own_file(places, "checkpoint");
            write_file(file, input);
            const dg::detail::Checkpoint read = dg::detail::read_checkpoint(file, head, 160);
            if (input != whole) {
              throw Finding(fmt::format("a damaged checkpoint is taken: time {}, step {}, {} left",
                                        read.time, read.steps, read.plan.steps_left));
            }
          }};
}

Kind cache_entries() {
  runtime::CacheKey key;
  key.digest = runtime::sha256("key");
  key.fields = {{"source", runtime::sha256("source"), "12 lines"},
                {"target", runtime::sha256("host"), "host"}};
  runtime::CompiledProgram program;
  program.target = "host";
  program.binary.resize(200, std::byte(7));
  program.log = "no warnings";
  program.lowered_names = {{"f<int>", "_Z1fIiEvv"}};
  program.resources = {{"f", 12, 0, 0, 1024, std::nullopt, std::nullopt}};
  const std::string whole = runtime::write_entry(key, program);
  const auto mutator = std::make_shared<Mutator>(std::vector<std::string>{whole});
  return {"cache_entries",
          "entries of the compile cache, mutated, half of them with a digest that is right again",
          [=](Draw& draw) {
            std::string bytes = mutator->make(draw);
            if (draw.chance(50) && bytes.size() > 40) {
              const runtime::Digest digest = runtime::sha256(std::string_view(bytes).substr(40));
              std::memcpy(bytes.data() + 8, digest.data(), digest.size());
            }
            return bytes;
          },
          [whole](const std::string& input) {
            const auto entry = runtime::read_entry(input);
            const bool is_signed =
                input.size() > 40 &&
                std::memcmp(runtime::sha256(std::string_view(input).substr(40)).data(),
                            input.data() + 8, 32) == 0;
            if (entry && !is_signed) {
              throw Finding("an entry whose digest is wrong is taken");
            }
            if (entry && input != whole) {
              static_cast<void>(runtime::shown_field(entry->key, "target"));
            }
          }};
}

Kind packs(const Places& places) {
  // as KernelPack writes them; the binary is none
  const std::string line =
      fmt::format(R"({{"schema":1,"kernel":"{}","device":"","architecture":"host",)"
                  R"("parameters":{{"n":300}},"slicing":"i: g.0 l.0*32","us":5.0,)"
                  R"("entry":"cnRjZ2VudDE="}})",
                  loopy::kernel_key(twice()));
  std::vector<std::string> seeds = {line + "\n", line + "\n" + line + "\n"};
  // a whole one, where this machine can compile
  try {
    const std::string path = places.folder + "/seed.pack";
    loopy::KernelPack(path).add(twice(), "host", {{"n", 300}},
                                loopy::parse_slicing("i: g.0 l.0*32"), 5);
    seeds.insert(seeds.begin(), read_file(path));
  } catch (const Error&) {
  }
  // entries alone: a mutated binary would be run if it were found, which is what packs are for
  const auto mutator = std::make_shared<Mutator>(seeds);
  return {"packs", "kernel packs, mutated: read",
          [mutator](Draw& draw) { return mutator->make(draw); },
          [places](const std::string& input) {
            const std::string file = own_file(places, "pack");
            write_file(file, input);
            const loopy::KernelPack pack(file);
            static_cast<void>(pack.entries());
            pack.check();
          }};
}

}  // namespace

std::vector<Kind> file_kinds(const Places& places) {
  return {meshes(), wisdom(places), checkpoints(places), cache_entries(), packs(places)};
}

}  // namespace rtcg::campaigns
