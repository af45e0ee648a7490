#include "rtcg/loopy/codegen/call_runs.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/call_loops.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

void add_loops(const LoopTree& tree, NameSet& inames) {
  for (const LoopTreeNode& node : tree) {
    if (const LoopNode* loop = get_if<LoopNode>(node)) {
      inames.insert(loop->iname);
      add_loops(loop->body, inames);
    }
  }
}

/// Whether the statement sets a scalar to a number, as the first one of a sum does. It may precede
/// the rest of its call, which gets the scalar then.
bool is_beginning(const Kernel& kernel, std::size_t statement) {
  const Assignment* assignment = get_if<Assignment>(kernel.instructions[statement]);
  return assignment != nullptr && is<Name>(assignment->targets.front()) &&
         (is<Integer>(assignment->value) || is<Real>(assignment->value));
}

void check_call(const LaunchFacts& launch, const LoopTree& run) {
  const std::vector<std::size_t> statements = statements_in(run);
  const CallSite& call = *launch.kernel.instructions[statements.front()].call_site;
  // loops that were peeled have copies of the call: they are not within the same loops
  NameSet around = launch.kernel.instructions[statements.front()].within_inames;
  NameSet inside;
  add_loops(run, inside);
  std::erase_if(around, [&](const std::string& each) { return inside.count(each) != 0; });
  const bool is_torn =
      std::any_of(launch.statements.begin(), launch.statements.end(), [&](std::size_t statement) {
        const Instruction& other = launch.kernel.instructions[statement];
        return other.call_site != nullptr && *other.call_site == call &&
               !is_beginning(launch.kernel, statement) &&
               std::find(statements.begin(), statements.end(), statement) == statements.end() &&
               std::includes(other.within_inames.begin(), other.within_inames.end(), around.begin(),
                             around.end());
      });
  if (is_torn) {
    throw InvalidInput(
        "loopy.generate.call_split",
        fmt::format("the call '{}' of '{}' cannot be a function: other statements, barriers or "
                    "conditions are between its statements",
                    call.call, call.function));
  }
  const bool has_text =
      std::any_of(statements.begin(), statements.end(), [&](std::size_t statement) {
        return !is<Assignment>(launch.kernel.instructions[statement]);
      });
  if (has_text || std::any_of(run.begin(), run.end(), contains_barrier)) {
    throw InvalidInput(
        "loopy.generate.call_form",
        fmt::format("the call '{}' of '{}' cannot be a function: there are barriers, "
                    "fences of copies or C text in it",
                    call.call, call.function));
  }
}

/// Arrays that are accessed by places in memory are passed from their beginning.
void add_whole_arrays(const Kernel& kernel, const Instruction& instruction, CallFrame& frame) {
  for_each_expression(instruction, [&](const Expr& expr) {
    walk(expr, [&](const Expr& part) {
      if (const LinearAccess* access = get_if<LinearAccess>(part)) {
        const Argument* argument = find_argument(kernel, access->array);
        const Temporary* temporary = find_temporary(kernel, access->array);
        frame.bases.emplace(access->array,
                            std::vector<Affine>(argument != nullptr ? argument->shape.size()
                                                                    : temporary->shape.size()));
      }
      return true;
    });
  });
}

}  // namespace

std::size_t end_of_call(const LaunchFacts& launch, const LoopTree& nodes, std::size_t begin,
                        const EmitContext& context) {
  if (context.frame != nullptr || !launch.has_calls) {
    return begin;
  }
  std::shared_ptr<const CallSite> call;
  std::size_t end = begin;
  for (; end < nodes.size(); ++end) {
    const std::vector<std::size_t> statements = statements_in(nodes[end]);
    const bool is_same =
        !statements.empty() &&
        std::all_of(statements.begin(), statements.end(), [&](std::size_t statement) {
          const auto& own = launch.kernel.instructions[statement].call_site;
          call = call == nullptr ? own : call;
          return own != nullptr && *own == *call;
        });
    const LoopNode* loop = get_if<LoopNode>(nodes[end]);
    if (!is_same || (loop != nullptr && !has_loop(*call, loop->iname))) {
      break;
    }
  }
  const std::vector<std::size_t> run =
      statements_in(LoopTree(nodes.begin() + static_cast<std::ptrdiff_t>(begin),
                             nodes.begin() + static_cast<std::ptrdiff_t>(end)));
  const bool is_torn_off = std::all_of(run.begin(), run.end(), [&](std::size_t statement) {
    return is_beginning(launch.kernel, statement);
  });
  return is_torn_off ? begin : end;
}

std::shared_ptr<CallFrame> call_frame(const LaunchFacts& launch, const LoopTree& run) {
  check_call(launch, run);
  auto frame = std::make_shared<CallFrame>();
  add_loops(run, frame->inames);
  for (const std::size_t statement : statements_in(run)) {
    add_whole_arrays(launch.kernel, launch.kernel.instructions[statement], *frame);
  }
  return frame;
}

}  // namespace rtcg::loopy
