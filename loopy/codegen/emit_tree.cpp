// The guarded tree as code: conditions, loops, loops over threads.
#include "rtcg/loopy/codegen/emitter.h"
#include "rtcg/loopy/codegen/join_conditions.h"

namespace rtcg::loopy {

CodeBlock Emitter::emit_tree(const GuardedTree& tree) {
  CodeBlock block;
  for (const GuardedNode& node : tree) {
    match(
        node,
        [&](const GuardedIf& each) {
          std::optional<cgen::Expr> condition;
          for (const Constraint& guard : each.tests) {
            const cgen::Expr test = lower_constraint(scope_of(*each.context), guard);
            condition = condition ? *condition && test : test;
          }
          CodeBlock body = emit_tree(each.then_body);
          CodeBlock other = gather_conditions(emit_tree(each.else_body), variables_);
          block.items.push_back(
              {CodeIf{*condition, std::move(body), if_any(std::move(other)), false}});
        },
        [&](const GuardedLoop& each) { emit_loop(each, block); },
        [&](const ThreadLoops& each) { block.items.push_back(thread_loops(each)); },
        [&](const GuardedCall& each) { emit_call(each, block); },
        [&](const GuardedStatement& each) { emit_statement(each.index, *each.context, block); },
        [&](const GuardedBarrier&) { block.items.push_back({CodeStatement{cgen::barrier()}}); });
  }
  return block;
}

void Emitter::emit_loop(const GuardedLoop& loop, CodeBlock& block) {
  const ExprScope scope = scope_of(*loop.context);
  CodeLoop code{loop.iname,
                launch_.options.index_type,
                lower_first_value(scope, loop.bounds),
                lower_end_value(scope, loop.bounds),
                static_cast<int>(loop.bounds.step),
                loop.unroll,
                {},
                false,
                emit_tree(loop.body)};
  if (code.body.items.empty()) {
    return;  // the tests around leave nothing to do
  }
  if (loop.is_ordered) {
    const HelperFunction order(Helper::ordered_iterations);
    helpers_.insert(order);
    code.body.items.insert(
        code.body.items.begin(),
        {CodeStatement{cgen::Statement(cgen::call(order.name(), {}, cgen::void_type))}});
  }
  block.items.push_back({std::move(code)});
}

CodeItem Emitter::thread_loops(const ThreadLoops& loops) {
  CodeBlock body = emit_tree(loops.body);
  const ExprScope scope = scope_of(*loops.context);
  const std::vector<const HardwareAxis*>& axes = launch_.thread_loops;
  for (std::size_t i = axes.size(); i-- > 0;) {
    CodeLoop loop{axes[i]->variable,
                  launch_.options.index_type,
                  lower_index(scope, axes[i]->first),
                  lower_index(scope, axes[i]->first + axes[i]->extent),
                  1,
                  {},
                  {},
                  true,
                  std::move(body)};
    if (i + 1 == axes.size()) {
      loop.pragma = "omp simd";
    }
    body = CodeBlock{{{std::move(loop)}}};
  }
  return std::move(body.items.front());
}

}  // namespace rtcg::loopy
