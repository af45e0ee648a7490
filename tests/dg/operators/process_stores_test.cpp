// Steps whose kernels store into neighbours' memory that each rank opens by handles, as processes
// do. The ranks are threads of this process, which the host's handles allow; tests/tools has
// processes.
#include <cmath>
#include <cstdlib>
#include <set>

#include "rtcg/dg/operators/distribute.h"
#include "rtcg/dg/operators/solver.h"
#include "rtcg/distributed/exchange/process_rounds.h"
#include "rtcg/distributed/group/group_state.h"
#include "rtcg/distributed/group/run_ranks.h"
#include "tests/dg/operators/dg_systems.h"
#include "tests/distributed/rank_devices.h"
#include "tests/runtime/compile/fake_compiler.h"
#include "tests/support/expect_error.h"

namespace rtcg::dg {
namespace {

using distributed::Group;
using distributed::Waiting;
using runtime::Device;
using testing::Case;

/// Messages of a group of threads; memory by handles.
class ThreadsAsProcesses final : public distributed::Transport,
                                 public distributed::detail::ProcessTransport {
 public:
  /// @param torn  the rank, if any, that gets handles that lead nowhere
  ThreadsAsProcesses(const Group& group, int torn)
      : threads_(group.state().transport),
        torn_(torn),
        kept_(std::make_shared<distributed::detail::KeptMemory>()),
        watch_(std::make_shared<distributed::detail::RoundsWatch>(
            [](const distributed::detail::Awaited&) { return std::exception_ptr(); })) {}

  [[nodiscard]] int rank() const override { return threads_->rank(); }
  [[nodiscard]] int size() const override { return threads_->size(); }
  [[nodiscard]] int node_rank() const override { return threads_->node_rank(); }
  [[nodiscard]] Device device() const override { return threads_->device(); }
  [[nodiscard]] std::string name() const override { return "threads as processes"; }
  void exchange_on_host(std::string_view call, std::span<const distributed::HostSend> sends,
                        std::span<const distributed::HostReceive> receives) override {
    threads_->exchange_on_host(call, sends, receives);
    if (call == "stores to neighbours" && rank() == torn_) {
      for (const distributed::HostReceive& each : receives) {
        // the first 24 bytes are numbers, then comes the first handle, with a file's number
        if (each.values.size() > 64) {
          each.values[24 + 16] ^= std::byte{0xff};
        }
      }
    }
  }
  void exchange(std::string_view call, runtime::StreamRef stream,
                std::span<const distributed::Send> sends,
                std::span<const distributed::Receive> receives) override {
    threads_->exchange(call, stream, sends, receives);
  }
  void fail(const std::string& reason) noexcept override { threads_->fail(reason); }
  [[nodiscard]] Waiting waiting_of_kernels() override { return Waiting::kernels; }
  [[nodiscard]] std::shared_ptr<distributed::detail::ProcessRounds> open_process_rounds(
      std::string_view call, std::span<const int> partners) override {
    return std::make_shared<distributed::detail::ProcessRounds>(
        rank(), call, std::vector<int>(partners.begin(), partners.end()), device(), watch_, kept_);
  }

 private:
  std::shared_ptr<distributed::Transport> threads_;
  int torn_;
  std::shared_ptr<distributed::detail::KeptMemory> kept_;
  std::shared_ptr<distributed::detail::RoundsWatch> watch_;
};

struct Results {
  State right_hand_side;
  State state;
  double energy = 0;
  Waiting waiting = Waiting::hosts;
};

Results results_of(const Case& each, const std::shared_ptr<const Discretization>& on,
                   const State& start, const SolverOptions& options) {
  Results results;
  Solver solver(each.system, on, data_of_rank(each.data, *on), options);
  results.waiting = solver.waiting();
  solver.set_state(state_of_rank(start, *on), 0.25);
  results.right_hand_side = gathered_state(*on, solver.right_hand_side());
  const double step = solver.time_step();
  for (int i = 0; i < 5; ++i) {
    solver.step(step);  // the later ones are replayed
  }
  results.energy = solver.energy();
  results.state = gathered_state(*on, solver.state());
  return results;
}

// @param torn  -1: no rank
void expect_same_bits(const Case& each, int order, int ranks, const SolverOptions& options,
                      const DistributeOptions& parts, int torn, Waiting waiting) {
  SCOPED_TRACE(each.name + " of order " + std::to_string(order) + " on " + std::to_string(ranks) +
               " ranks, torn " + std::to_string(torn));
  const Mesh mesh = make_box_mesh(each.box);
  const auto whole = std::make_shared<const Discretization>(discretize(mesh, order));
  const State start = testing::random_state(each.system.fields.size(), *whole);
  SolverOptions alone = options;
  alone.device = Device::host();
  const Results expected = results_of(each, whole, start, alone);
  distributed::run_ranks(
      distributed::testing::host_devices_apart(ranks), [&](const Group& threads) {
        const Group group(std::make_shared<ThreadsAsProcesses>(threads, torn));
        const auto on = distribute(mesh, order, group, parts);
        SolverOptions own = options;
        own.device = group.device();
        const Results found = results_of(each, on, start, own);
        EXPECT_EQ(found.waiting, waiting);
        EXPECT_EQ(found.energy, expected.energy);
        if (group.is_first()) {
          EXPECT_EQ(found.right_hand_side.values, expected.right_hand_side.values);
          EXPECT_EQ(found.state.values, expected.state.values);
        }
        group.barrier();
      });
}

/// As in distribute_test.cpp: each product and sum is rounded by itself.
std::string strict_compiler() {
  const char* const compiler = std::getenv("RTCG_CC");
  return std::string(compiler == nullptr ? "cc" : compiler) + " -ffp-contract=off";
}

TEST(ProcessStores, GiveTheBitsOfOneRank) {
  const runtime::testing::EnvironmentGuard guard("RTCG_CC", strict_compiler().c_str());
  int ranks = 2;
  for (const Case& each : testing::all_cases()) {
    const Precision precision = ranks % 2 == 0 ? Precision::double_ : Precision::single;
    expect_same_bits(each, 1 + ranks % 3, ranks, {.precision = precision}, {}, -1,
                     Waiting::kernels);
    ranks = ranks == 7 ? 2 : ranks + 1;
  }
  // all elements at the rim; one rank without elements, and so without neighbours
  const Case each = testing::full_maxwell();
  for (const std::vector<int>& rank_of : testing::uneven_parts(testing::box_elements(each.box))) {
    expect_same_bits(each, 2, 4, {}, {.rank_of = rank_of}, -1, Waiting::kernels);
  }
}

// On all ranks, though one alone cannot open a handle; also those that have no neighbours.
TEST(ProcessStores, GiveWayToExchangesIfAHandleCannotBeOpened) {
  const runtime::testing::EnvironmentGuard guard("RTCG_CC", strict_compiler().c_str());
  const Case each = testing::full_maxwell();
  for (const int torn : {0, 1, 2}) {
    expect_same_bits(each, 2, 3, {}, {}, torn, Waiting::hosts);
  }
  for (const std::vector<int>& rank_of : testing::uneven_parts(testing::box_elements(each.box))) {
    expect_same_bits(each, 2, 4, {}, {.rank_of = rank_of}, 1, Waiting::hosts);
  }
}

// A stage of several kernels has none that could wait.
TEST(ProcessStores, AreOfFusedKernels) {
  for (const Strategy strategy : {Strategy::split, Strategy::two_kernels}) {
    expect_same_bits(testing::full_maxwell(), 2, 2, {.strategy = strategy}, {}, -1, Waiting::hosts);
  }
}

}  // namespace
}  // namespace rtcg::dg
