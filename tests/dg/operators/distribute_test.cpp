#include "rtcg/dg/operators/distribute.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include "rtcg/cgen/print/print_module.h"
#include "rtcg/dg/operators/default_fused_shape.h"
#include "rtcg/dg/operators/halo.h"
#include "rtcg/dg/operators/peer_stores.h"
#include "rtcg/dg/operators/rank_exchange.h"
#include "rtcg/dg/operators/solver.h"
#include "rtcg/dg/operators/stage_runner.h"
#include "rtcg/distributed/group/run_ranks.h"
#include "rtcg/loopy/tune/wisdom.h"
#include "rtcg/runtime/device/graph.h"
#include "tests/dg/operators/dg_systems.h"
#include "tests/distributed/rank_devices.h"
#include "tests/runtime/compile/fake_compiler.h"
#include "tests/support/expect_error.h"

namespace rtcg::dg {
namespace {

using distributed::Group;
using distributed::run_ranks;
using distributed::testing::device_sets;
using distributed::testing::DeviceSet;
using runtime::Device;
using testing::Case;

std::vector<Device> hosts(int ranks) {
  return std::vector<Device>(static_cast<std::size_t>(ranks), Device::host());
}

// What a run gives: the same on any number of ranks.
struct Results {
  State right_hand_side;
  State state;
  double time_step = 0;
  double energy = 0;
  double integral = 0;
  double error = 0;
  std::vector<double> reported;
  distributed::Waiting waiting = distributed::Waiting::hosts;
};

Results results_of(const Case& each, const std::shared_ptr<const Discretization>& on,
                   const State& start, const SolverOptions& options) {
  Results results;
  Solver solver(each.system, on, data_of_rank(each.data, *on), options);
  results.waiting = solver.waiting();
  solver.set_state(state_of_rank(start, *on), 0.25);
  results.right_hand_side = gathered_state(*on, solver.right_hand_side());
  results.time_step = solver.time_step();
  solver.step(1e-3);
  solver.step(1e-3);
  // one that changes the length of its steps, and one that replays them
  RunOptions run;
  run.report_every = 1;
  run.report = [&](const Progress& progress) { results.reported.push_back(progress.energy); };
  EXPECT_TRUE(solver.run_until(solver.time() + 3.2 * results.time_step, run));
  const State state = solver.state();
  results.energy = solver.energy();
  results.integral = integral(*on, state, 0);
  results.error = l2_distance(*on, state, state_of_rank(start, *on));
  results.state = gathered_state(*on, state);
  return results;
}

void expect_same_bits(const Case& each, int order, const DeviceSet& set, int ranks,
                      SolverOptions options, const DistributeOptions& parts = {},
                      bool is_by_kernels = false) {
  SCOPED_TRACE(each.name + " of order " + std::to_string(order) + " on " + std::to_string(ranks) +
               " ranks, strategy " + std::to_string(static_cast<int>(options.strategy)) + ", " +
               set.name);
  const Mesh mesh = make_box_mesh(each.box);
  const auto whole = std::make_shared<const Discretization>(discretize(mesh, order));
  const State start = testing::random_state(each.system.fields.size(), *whole);
  options.device = set.devices[0];
  const Results expected = results_of(each, whole, start, options);
  for (const double value : expected.state.values) {
    ASSERT_TRUE(std::isfinite(value));
  }
  const auto work = [&](const Group& group) {
    const auto on = distribute(mesh, order, group, parts);
    SolverOptions own = options;
    own.device = group.device();
    const Results found = results_of(each, on, start, own);
    if (is_by_kernels) {
      EXPECT_EQ(found.waiting, distributed::Waiting::kernels);
    }
    EXPECT_EQ(found.time_step, expected.time_step);
    EXPECT_EQ(found.energy, expected.energy);
    EXPECT_EQ(found.integral, expected.integral);
    EXPECT_EQ(found.error, expected.error);
    EXPECT_EQ(found.reported, expected.reported);
    if (group.is_first()) {
      EXPECT_EQ(found.right_hand_side.values, expected.right_hand_side.values);
      EXPECT_EQ(found.state.values, expected.state.values);
    } else {
      EXPECT_EQ(found.state.elements, 0U);
    }
  };
  // on hosts by turns: whether they exchange the traces, devices wait for them, or kernels do
  if (set.devices == hosts(1) && ranks > 1 && (ranks % 2 == 1 || is_by_kernels)) {
    run_ranks(
        distributed::testing::host_devices_apart(ranks), work,
        {.waiting = is_by_kernels ? distributed::Waiting::kernels : distributed::Waiting::devices});
  } else {
    distributed::testing::run_both_ways(set.of_ranks(ranks), work);
    if (set.devices.size() >= static_cast<std::size_t>(ranks) && ranks > 1) {
      run_ranks(set.of_ranks(ranks), work, {.waiting = distributed::Waiting::kernels});
    }
  }
}

constexpr bool by_kernels = true;
constexpr Strategy strategies[] = {Strategy::fused, Strategy::two_kernels, Strategy::split};

DeviceSet host_set() {
  return {"host", {Device::host()}};
}

TEST(Distribute, GivesTheBitsOfOneRankForEveryEquation) {
  int ranks = 2;
  for (const Case& each : testing::all_cases()) {
    for (const Strategy strategy : strategies) {
      expect_same_bits(each, 2, host_set(), ranks, {.strategy = strategy});
      ranks = ranks == 5 ? 2 : ranks + 1;
    }
  }
}

TEST(Distribute, GivesTheBitsOfOneRankForEveryOrder) {
  for (int order = 1; order <= 5; ++order) {
    for (const Strategy strategy : strategies) {
      const Precision precision = order % 2 == 0 ? Precision::single : Precision::double_;
      expect_same_bits(testing::plain_maxwell(1, testing::box(3, 2, 0.2)), order, host_set(), 3,
                       {.precision = precision, .strategy = strategy});
    }
  }
}

TEST(Distribute, GivesTheBitsOfOneRankForOneToThirteenRanks) {
  const std::vector<Case> cases = testing::all_cases();
  for (int ranks = 1; ranks <= 13; ++ranks) {
    expect_same_bits(cases[static_cast<std::size_t>(ranks) % cases.size()], 2, host_set(), ranks,
                     {.strategy = strategies[ranks % 3]});
  }
}

// Elements of ranks in turns, so that all have remote faces; a large rank and a small one; ranks
// without elements, also the first; more ranks than elements.
TEST(Distribute, GivesTheBitsOfOneRankForUnevenParts) {
  const Case each = testing::full_maxwell();
  for (const Strategy strategy : strategies) {
    for (const std::vector<int>& rank_of : testing::uneven_parts(testing::box_elements(each.box))) {
      expect_same_bits(each, 2, host_set(), 4, {.strategy = strategy}, {.rank_of = rank_of});
    }
  }
  Case few = testing::all_cases().front();
  for (const Case& candidate : testing::all_cases()) {
    few = testing::box_elements(candidate.box) < testing::box_elements(few.box) ? candidate : few;
  }
  ASSERT_LT(testing::box_elements(few.box), 7U);
  expect_same_bits(few, 3, host_set(), 7, {.strategy = Strategy::split});
  expect_same_bits(few, 3, host_set(), 7, {.strategy = Strategy::fused});
}

/// The host's compiler, so that it rounds each product and sum by itself. The kernels of ranks that
/// load from neighbours are not those of one rank, and gcc joins products and sums in one of
/// several ways, by what is around them (measured: Euler's equations).
std::string strict_compiler() {
  const char* const compiler = std::getenv("RTCG_CC");
  return std::string(compiler == nullptr ? "cc" : compiler) + " -ffp-contract=off";
}

// Kernels that write the ghosts of neighbours: all equations, orders, numbers of ranks; every
// element at the rim, hardly one, and ranks without elements.
TEST(Distribute, GivesTheBitsOfOneRankByStoresOfNeighbours) {
  const runtime::testing::EnvironmentGuard guard("RTCG_CC", strict_compiler().c_str());
  const std::vector<Case> cases = testing::all_cases();
  int ranks = 2;
  for (const Case& each : cases) {
    expect_same_bits(each, 2, host_set(), ranks, {}, {}, by_kernels);
    ranks = ranks == 13 ? 2 : ranks + 1;
  }
  for (; ranks <= 13; ++ranks) {
    expect_same_bits(cases.front(), 1, host_set(), ranks, {}, {}, by_kernels);
  }
  for (int order = 1; order <= 5; ++order) {
    const Precision precision = order % 2 == 0 ? Precision::double_ : Precision::single;
    expect_same_bits(testing::plain_maxwell(1, testing::box(3, 2, 0.2)), order, host_set(), 3,
                     {.precision = precision}, {}, by_kernels);
  }
  const Case each = testing::full_maxwell();
  for (const std::vector<int>& rank_of : testing::uneven_parts(testing::box_elements(each.box))) {
    expect_same_bits(each, 2, host_set(), 4, {}, {.rank_of = rank_of}, by_kernels);
  }
}

// Of the two rounds that a rank submits, the second one waits for a neighbour that has failed in
// the first one.
TEST(Distribute, EndsKernelsThatWaitForARankThatFails) {
  const Mesh mesh = make_box_mesh(testing::box(3, 2));
  std::string told;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_ERROR("dg.solver.bad_time",
               run_ranks(distributed::testing::host_devices_apart(2),
                         [&](const Group& group) {
                           const auto on = distribute(mesh, 1, group);
                           const detail::KernelShape shape = detail::shape_of(
                               detail::evaluators_of(
                                   testing::plain_maxwell(1, testing::box(3, 2)).system, on->mesh),
                               *on);
                           const auto state = [&] {
                             return std::make_shared<const runtime::Buffer<std::byte>>(
                                 group.device(), sizeof(double) * shape.fields * shape.nodes *
                                                     (on->element_count() + on->part->ghosts));
                           };
                           const runtime::Stream stream(group.device());
                           const auto first = state();
                           const auto peers = detail::PeerStores::make(
                               shape, cgen::f64, *on, group.device(), 0, {first, state()});
                           ASSERT_NE(peers, nullptr);
                           const runtime::Graph rounds = runtime::capture(stream, [&] {
                             peers->begin_capture();
                             peers->announce(stream, first->ref());
                             peers->announce(stream, first->ref());
                             peers->end_capture();
                           });
                           peers->replay(stream, 2, [&] { rounds.launch(stream); });
                           stream.synchronize();
                           if (group.rank() == 1) {
                             peers->replay(stream, 2, [] {
                               std::this_thread::sleep_for(
                                   std::chrono::milliseconds(200));  // the other launches
                               throw InvalidInput("dg.solver.bad_time",
                                                  "the second rank has had enough");
                             });
                           }
                           peers->replay(stream, 2, [&] { rounds.launch(stream); });
                           try {
                             stream.synchronize();
                           } catch (const Error& error) {
                             told = error.message();
                             throw;
                           }
                         },
                         {.waiting = distributed::Waiting::kernels}));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_NE(told.find("rank 1"), std::string::npos) << told;
}

TEST(Distribute, AnnouncingKernelReadsLikeThis) {
  detail::KernelShape shape;
  shape.fields = 2;
  shape.nodes = 4;
  EXPECT_EQ(
      cgen::print_module(detail::announcing_kernel(shape, cgen::f32, false), cgen::Dialect::cuda)
          .text,
      R"(extern "C" __global__ void announce(int neighbours, int blocks, int elements, int first_at_rim,
    int copies, const volatile unsigned int *arrived, const volatile unsigned int *given_up,
    unsigned int *progress, volatile unsigned int *const *__restrict__ announced,
    const long long *__restrict__ ghosts, float *state) {
  const int thread = (int)threadIdx.x;
  const unsigned int round = progress[0];
  for (int neighbour = thread; neighbour < neighbours; neighbour += 128) {
    unsigned int look = 0u;
    while ((int)(arrived[neighbour] - round) < 0 &&
        ((look & 1023u) != 1023u || given_up[0] == 0u)) {
      look = look + 1u;
    }
    __threadfence_system();
  }
  __syncthreads();
  for (long long number = (long long)blockIdx.x * 128 + thread;
      number < (long long)(elements - first_at_rim) * 8; number += (long long)blocks * 128) {
    const int element = first_at_rim + (int)(number / 8);
    const long long place = number % 8;
    const float value = state[(long long)element * 8 + place];
    if (element >= first_at_rim) {
      const int first_copy = (element - first_at_rim) * copies;
      for (int copy = 0; copy < copies; ++copy) {
        const long long ghost = ghosts[first_copy + copy];
        if (ghost != 0ll) {
          state[ghost + place] = value;
        }
      }
    }
  }
  __syncthreads();
  if (thread == 0) {
    __threadfence_system();
    const int parts_done = (int)atomicAdd(&progress[1], 1u) + 1;
    if (parts_done == blocks) {
      __threadfence_system();
      progress[1] = 0u;
      const unsigned int next_round = progress[0] + 1u;
      progress[0] = next_round;
      for (int neighbour = 0; neighbour < neighbours; ++neighbour) {
        announced[neighbour][0] = next_round;
      }
    }
  }
}
)");
}

TEST(Distribute, GivesTheBitsOfOneRankForEveryMethodOfPartition) {
  const Case each = testing::plain_maxwell(1, testing::box(3, 2, 0.2));
  expect_same_bits(each, 2, host_set(), 3, {}, {.method = PartitionMethod::curve});
  if (why_no_metis().empty()) {
    expect_same_bits(each, 2, host_set(), 3, {}, {.method = PartitionMethod::metis});
  }
}

TEST(Distribute, GivesTheBitsOfOneRankOnEveryDevice) {
  distributed::testing::expect_required_gpus();
  for (const DeviceSet& set : device_sets()) {
    if (set.name == "host" || set.name == "all kinds") {  // those round differently
      continue;
    }
    for (const Strategy strategy : strategies) {
      expect_same_bits(testing::full_maxwell(), 2, set, 3,
                       {.precision = Precision::single, .strategy = strategy});
      expect_same_bits(testing::all_cases().back(), 1, set, 2,
                       {.precision = Precision::single, .strategy = strategy});
    }
  }
}

// Host, OpenCL and CUDA devices as ranks of one group: each rounds in its own way.
TEST(Distribute, SolvesOnDevicesOfSeveralKinds) {
  const DeviceSet& set = device_sets().back();
  const Case each = testing::plain_maxwell(1, testing::box(3, 2, 0.2));
  const Mesh mesh = make_box_mesh(each.box);
  const auto whole = std::make_shared<const Discretization>(discretize(mesh, 3));
  const State start = testing::random_state(6, *whole);
  const SolverOptions options{.device = Device::host(), .precision = Precision::single};
  const Results expected = results_of(each, whole, start, options);
  distributed::testing::run_both_ways(set.of_ranks(4), [&](const Group& group) {
    const auto on = distribute(mesh, 3, group);
    SolverOptions own = options;
    own.device = group.device();
    const Results found = results_of(each, on, start, own);
    if (group.is_first()) {
      EXPECT_LT(testing::relative_difference(found.state, expected.state), 1e-4);
    }
  });
}

// A stage sends each remote face once: nodes of a face, all fields.
TEST(Distribute, SendsTheNodesOfRemoteFacesAlone) {
  const Case each = testing::plain_maxwell(1, testing::box(3, 3));
  const Mesh mesh = make_box_mesh(each.box);
  std::mutex mutex;
  std::size_t bytes = 0;
  std::size_t cut = 0;
  run_ranks(hosts(4), [&](const Group& group) {
    const auto on = distribute(mesh, 4, group);
    Solver solver(each.system, on, {}, {.device = Device::host()});
    solver.set_state(State(6, *on));
    solver.step(1e-3);
    const std::uint64_t before = group.traffic().bytes;
    const std::uint64_t messages = group.traffic().messages;
    solver.step(1e-3);
    EXPECT_EQ(group.traffic().messages - messages, 5 * on->part->neighbours.size());
    const std::lock_guard lock(mutex);
    bytes += group.traffic().bytes - before;
    for (const PartNeighbour& neighbour : on->part->neighbours) {
      cut += neighbour.sent.size();
    }
  });
  EXPECT_EQ(bytes, cut * 5 * 15 * 6 * sizeof(double));
}

TEST(Distribute, HaloKernelsReadLikeThis) {
  const auto on = discretize(make_box_mesh(testing::box(2, 1)), 3);
  const Case each = testing::cavity(MaxwellMode::transverse_magnetic, 1, testing::box(2, 1));
  const detail::KernelShape shape =
      detail::shape_of(detail::evaluators_of(each.system, on.mesh), on);
  const std::string text =
      cgen::print_module(detail::halo_kernels(shape, cgen::f64), cgen::Dialect::cuda).text;
  EXPECT_EQ(
      text.substr(0, text.find("extern", 20)),
      R"(extern "C" __global__ void pack_traces(long long count, const unsigned int *__restrict__ sides,
    const unsigned char *__restrict__ face_nodes, const double *__restrict__ state,
    double *__restrict__ message) {
  const long long number = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (number < count) {
    const unsigned int side = sides[number / 12];
    const int rest = (int)(number % 12);
    const int element = (int)(side / 3u);
    const int face = (int)(side % 3u);
    message[number] =
        state[((long long)element * 3 + rest / 4) * 10 + face_nodes[face * 4 + rest % 4]];
  }
}

)");
}

// Where devices wait for each other: stages of an odd and an even number, of kernels that swap the
// states and of kernels that do not, with work between the steps that is in no graph.
TEST(Distribute, ReplaysStepsWithTheBitsOfSingleStages) {
  const Case each = testing::plain_maxwell(1, testing::box(3, 2, 0.2));
  const Mesh mesh = make_box_mesh(each.box);
  std::vector<std::vector<Device>> of_ranks = {distributed::testing::host_devices_apart(3)};
  const std::vector<Device> gpus = distributed::testing::judged_of(runtime::BackendKind::cuda);
  if (gpus.size() > 1) {
    of_ranks.emplace_back(gpus.begin(), gpus.begin() + 2);
  }
  const std::vector<detail::Stage> three = {{0, 0.1, 0}, {-0.4, 0.4, 0}, {-1.2, 0.8, 0}};
  for (const std::vector<Device>& devices : of_ranks) {
    for (const int kind : {0, 1, 2}) {
      const bool is_split = kind == 1;
      const bool waits_in_kernels = kind == 2;
      for (const int stage_count : {3, 2}) {
        const std::vector<detail::Stage> stages(three.begin(), three.begin() + stage_count);
        run_ranks(devices,
                  [&](const Group& group) {
                    const auto on = distribute(mesh, 2, group);
                    std::optional<detail::FusedShape> fused;
                    if (!is_split) {
                      fused = detail::default_fused_shape(
                          detail::shape_of(detail::evaluators_of(each.system, on->mesh), *on),
                          cgen::f64, group.device().info());
                    }
                    const auto runner = [&] {
                      return std::make_unique<detail::StageRunner>(
                          each.system, *on, detail::with_materials_of_ghosts(each.data, *on),
                          group.device(), cgen::f64, fused);
                    };
                    const auto at_once = runner();
                    if (waits_in_kernels) {
                      at_once->wait_by(distributed::Waiting::kernels, *on);
                    }
                    const auto singly = runner();
                    at_once->write_test_state();
                    const std::vector<std::byte> start = at_once->read_state();
                    at_once->write_state(start);
                    singly->write_state(start);
                    for (int step = 0; step < 12; ++step) {
                      if (step == 7) {
                        at_once->stage(0, 0.2, 1e-4, 0);
                        singly->stage(0, 0.2, 1e-4, 0);
                      }
                      if (step == 9) {
                        at_once->right_hand_side(0);
                        singly->right_hand_side(0);
                      }
                      if (step % group.size() == group.rank()) {
                        // as what allocates, frees or loads may do
                        for (const Device& each : devices) {
                          each.backend().synchronize_device();
                        }
                      }
                      at_once->step(stages, 1e-4);
                      for (const detail::Stage& stage : stages) {
                        singly->stage(stage.a, stage.b, 1e-4, stage.time);
                      }
                    }
                    // not the first, nor that after a whole halo
                    EXPECT_EQ(at_once->replayed_steps(), waits_in_kernels ? 11 : 10);
                    EXPECT_EQ(singly->replayed_steps(), 0);
                    EXPECT_EQ(at_once->read_state(), singly->read_state());
                    EXPECT_EQ(at_once->read_residual(), singly->read_residual());
                  },
                  {.waiting = distributed::Waiting::devices});
      }
    }
  }
}

// Ranks agree, remember what they chose, and have the bits of one rank; some have no elements.
TEST(Distribute, MeasuresWhoWaits) {
  const runtime::testing::EnvironmentGuard guard("RTCG_CC", strict_compiler().c_str());
  const Case each = testing::full_maxwell();
  const Mesh mesh = make_box_mesh(each.box);
  const auto whole = std::make_shared<const Discretization>(discretize(mesh, 2));
  const State start = testing::random_state(6, *whole);
  const std::string path = ::testing::TempDir() + "who_waits.jsonl";
  std::vector<std::vector<Device>> of_ranks = {distributed::testing::host_devices_apart(3)};
  const std::vector<Device> gpus = distributed::testing::judged_of(runtime::BackendKind::cuda);
  if (gpus.size() > 1) {
    of_ranks.emplace_back(gpus.begin(), gpus.begin() + 2);
  }
  std::vector<int> uneven(mesh.element_count(), 1);
  uneven[0] = 0;
  for (const std::vector<Device>& devices : of_ranks) {
    for (const Strategy strategy : strategies) {
      std::remove(path.c_str());
      SolverOptions options{.device = devices[0], .strategy = strategy, .wisdom_path = path};
      const Results expected = results_of(each, whole, start, options);
      std::vector<distributed::Waiting> chosen(devices.size());
      const auto work = [&](const Group& group) {
        const auto on = distribute(mesh, 2, group, {.rank_of = uneven});
        SolverOptions own = options;
        own.device = group.device();
        const Results found = results_of(each, on, start, own);
        if (group.is_first()) {
          EXPECT_EQ(found.right_hand_side.values, expected.right_hand_side.values);
          EXPECT_EQ(found.state.values, expected.state.values);
        }
        chosen[static_cast<std::size_t>(group.rank())] =
            Solver(each.system, on, data_of_rank(each.data, *on), own).waiting();
      };
      run_ranks(devices, work, {.waiting = distributed::Waiting::measured});
      const std::vector<distributed::Waiting> measured = chosen;
      for (const distributed::Waiting one : measured) {
        EXPECT_EQ(one, measured[0]);
        EXPECT_NE(one, distributed::Waiting::measured);
      }
      std::vector<loopy::WisdomEntry> entries = loopy::Wisdom(path).entries();
      ASSERT_EQ(entries.size(), 1U);
      EXPECT_GT(entries[0].microseconds, 0);
      // the other one, as if it had been faster
      entries[0].decision = measured[0] == distributed::Waiting::hosts ? "devices" : "hosts";
      std::remove(path.c_str());
      loopy::Wisdom(path).add(entries[0]);
      run_ranks(devices, work, {.waiting = distributed::Waiting::measured});
      for (const distributed::Waiting one : chosen) {
        EXPECT_NE(one, measured[0]);
      }
      EXPECT_EQ(loopy::Wisdom(path).entries().size(), 1U);
      // kernels do where a stage is one kernel
      for (const char* decision : {"kernels", "kernels, rim apart"}) {
        entries[0].decision = decision;
        std::remove(path.c_str());
        loopy::Wisdom(path).add(entries[0]);
        run_ranks(devices, work, {.waiting = distributed::Waiting::measured});
        for (const distributed::Waiting one : chosen) {
          EXPECT_EQ(one, chosen[0]);
          // compilers for GPUs may give these kernels other bits, and then they do not
          const bool is_fused = strategy == Strategy::fused;
          EXPECT_TRUE(one == distributed::Waiting::kernels ? is_fused
                                                           : devices != of_ranks[0] || !is_fused);
        }
      }
    }
  }
  std::remove(path.c_str());
}

// Where a device has several ranks there is nothing to choose.
TEST(Distribute, HasHostsWaitWhereDevicesCannot) {
  const Case each = testing::plain_maxwell(1, testing::box(3, 1));
  const Mesh mesh = make_box_mesh(each.box);
  run_ranks(hosts(2),
            [&](const Group& group) {
              const Solver solver(each.system, distribute(mesh, 1, group), {},
                                  {.device = group.device()});
              EXPECT_EQ(solver.waiting(), distributed::Waiting::hosts);
            },
            {.waiting = distributed::Waiting::measured});
}

std::string bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Distribute, WritesTheCheckpointOfOneRankAndLoadsItOnAnyNumber) {
  const Case each = testing::full_maxwell();
  const Mesh mesh = make_box_mesh(each.box);
  const auto whole = std::make_shared<const Discretization>(discretize(mesh, 2));
  const State start = testing::random_state(6, *whole);
  const std::string folder = ::testing::TempDir();
  // stops in the middle, saves, and goes on
  const auto run = [&](const Group& group, const std::shared_ptr<const Discretization>& on,
                       const std::string& from, const std::string& to) {
    Solver solver(each.system, on, data_of_rank(each.data, *on), {.device = group.device()});
    int asked = 0;
    RunOptions options;
    if (from.empty()) {
      solver.set_state(state_of_rank(start, *on));
      // one of the ranks stops all
      options.is_stopped = [&] { return ++asked == 3 && group.rank() == group.size() - 1; };
    } else {
      solver.load_checkpoint(from);
    }
    EXPECT_EQ(solver.run_until(0.5, options), !from.empty());
    solver.save_checkpoint(to);
  };
  const Group alone(Device::host());
  const std::string stopped = folder + "distribute_one.checkpoint";
  const std::string ended = folder + "distribute_one_end.checkpoint";
  run(alone, whole, "", stopped);
  run(alone, whole, stopped, ended);
  for (const int ranks : {2, 5}) {
    const std::string name = folder + "distribute_" + std::to_string(ranks);
    run_ranks(hosts(ranks), [&](const Group& group) {
      run(group, distribute(mesh, 2, group), "", name + ".checkpoint");
    });
    EXPECT_TRUE(bytes_of_file(name + ".checkpoint") == bytes_of_file(stopped));
    run_ranks(hosts(ranks + 1), [&](const Group& group) {
      run(group, distribute(mesh, 2, group), name + ".checkpoint", name + "_end.checkpoint");
    });
    EXPECT_TRUE(bytes_of_file(name + "_end.checkpoint") == bytes_of_file(ended));
    std::remove((name + ".checkpoint").c_str());
    std::remove((name + "_end.checkpoint").c_str());
  }
  // of another mesh
  EXPECT_ERROR("dg.checkpoint.mismatch", run_ranks(hosts(2), [&](const Group& group) {
                 const auto on = distribute(make_box_mesh(testing::box(3, 2)), 2, group);
                 Solver solver(each.system, on, data_of_rank(each.data, *on),
                               {.device = group.device()});
                 solver.load_checkpoint(stopped);
               }));
  std::remove(stopped.c_str());
  std::remove(ended.c_str());
}

TEST(Distribute, NamesTheFirstElementOfAllRanksThatIsNotFinite) {
  const Case each = testing::plain_maxwell(1, testing::box(3, 2));
  const Mesh mesh = make_box_mesh(each.box);
  std::vector<std::string> texts(3);
  EXPECT_ERROR("dg.solver.not_finite", run_ranks(hosts(3), [&](const Group& group) {
                 const auto on = distribute(mesh, 2, group);
                 Solver solver(each.system, on, {}, {.device = Device::host()});
                 State state(6, *on);
                 for (std::size_t element = 0; element < on->element_count(); ++element) {
                   if (on->part->places[element] >= 17) {
                     state.at(2, element, 1) = NAN;
                   }
                 }
                 solver.set_state(state);
                 try {
                   static_cast<void>(solver.run_until(1));
                 } catch (const Error& error) {
                   texts[static_cast<std::size_t>(group.rank())] = error.message();
                   throw;
                 }
               }));
  for (const std::string& text : texts) {
    EXPECT_EQ(text,
              "'ez' is nan in element 17 at time 0 after 0 steps: a smaller time step may help");
  }
}

TEST(Distribute, RefusesWhatDoesNotFitARank) {
  const Case each = testing::full_maxwell();
  const Mesh mesh = make_box_mesh(each.box);
  const Group alone(Device::host());
  EXPECT_ERROR("dg.discretize.empty_mesh", distribute(Mesh{}, 1, alone));
  EXPECT_ERROR("dg.split_mesh.bad_parts", distribute(mesh, 1, alone, {.rank_of = {0}}));
  const auto on = distribute(mesh, 1, alone);
  SystemData data = each.data;
  data.materials["permittivity"].pop_back();
  EXPECT_ERROR("dg.data_of_rank.count", data_of_rank(data, *on));
  State short_one(6, *on);
  --short_one.elements;
  EXPECT_ERROR("dg.check_state.shape", state_of_rank(short_one, *on));
  EXPECT_ERROR("dg.check_state.shape", gathered_state(*on, short_one));
  EXPECT_ERROR("dg.reference_right_hand_side.part",
               reference_right_hand_side(each.system, *on, each.data, State(6, *on)));
  for (const Device& device : runtime::judged_devices()) {
    if (device != Device::host()) {
      EXPECT_ERROR("dg.solver.other_device",
                   Solver(each.system, on, each.data, {.device = device}));
    }
  }
  EXPECT_ERROR("dg.solver.tune_ranks", run_ranks(hosts(2), [&](const Group& group) {
                 const auto part = distribute(mesh, 1, group);
                 Solver(each.system, part, data_of_rank(each.data, *part),
                        {.device = group.device(), .tune = true});
               }));
}

}  // namespace
}  // namespace rtcg::dg
