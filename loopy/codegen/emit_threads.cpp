// The threads of a block as loops of the host, split at barriers.
#include "rtcg/loopy/codegen/emitter.h"

namespace rtcg::loopy {

std::vector<const HardwareAxis*> Emitter::thread_axes() const {
  std::vector<const HardwareAxis*> result;
  for (int number = 3; number-- > 0;) {
    if (const HardwareAxis* axis = axes_.find(AxisKind::block, number)) {
      result.push_back(axis);
    }
  }
  return result;
}

Emitter::Share Emitter::share_of(const LoopTreeNode& node) const {
  if (contains_barrier(node)) {
    return Share::mixed;
  }
  std::size_t different = 0;
  const std::vector<std::size_t> statements = statements_in(node);
  for (const std::size_t statement : statements) {
    different += facts_.differs_by_thread(statement) ? 1 : 0;
  }
  return different == 0 ? Share::none : different == statements.size() ? Share::all : Share::mixed;
}

std::vector<LoopTree> Emitter::segments_of(const LoopTree& nodes) const {
  std::vector<LoopTree> segments;
  bool open = false;
  for (const LoopTreeNode& node : nodes) {
    if (is<BarrierNode>(node)) {
      open = false;
      continue;
    }
    const bool is_shared = share_of(node) == Share::all;
    if (!is_shared || !open) {
      segments.emplace_back();
    }
    segments.back().push_back(node);
    open = is_shared;
  }
  return segments;
}

void Emitter::number_segments(const LoopTree& nodes) {
  std::map<std::string, int> segment_of;
  int next = 0;
  number_segments(nodes, segment_of, next);
}

void Emitter::number_segments(const LoopTree& nodes, std::map<std::string, int>& segment_of,
                              int& next) {
  for (const LoopTree& segment : segments_of(nodes)) {
    if (share_of(segment.front()) == Share::mixed) {
      number_segments(get_if<LoopNode>(segment.front())->body, segment_of, next);
      continue;
    }
    const int number = next++;
    for (const std::size_t statement : statements_in(segment)) {
      const Instruction& instruction = kernel_.instructions[statement];
      NameSet touched = written_variables(instruction);
      touched.merge(read_variables(kernel_, instruction));
      for (const std::string& each : touched) {
        if (facts_.is_varying(each) && segment_of.emplace(each, number).first->second != number) {
          spread_.insert(each);
        }
      }
    }
  }
}

CodeBlock Emitter::emit_split(const LoopTree& nodes, const EmitContext& place) {
  CodeBlock block;
  for (const LoopTree& segment : segments_of(nodes)) {
    switch (share_of(segment.front())) {
      case Share::none: {
        // the same for all threads: done once
        EmitContext inside = place;
        inside.in_threads = true;
        for (const HardwareAxis* axis : thread_axes()) {
          inside.known.erase(axis->variable);
        }
        emit_uniform(segment, inside, block);
        break;
      }
      case Share::mixed:
        emit_loop(*get_if<LoopNode>(segment.front()), place, block);
        break;
      case Share::all:
        block.items.push_back(thread_loops(segment, place));
        break;
    }
  }
  return block;
}

void Emitter::emit_uniform(const LoopTree& segment, EmitContext place, CodeBlock& block) {
  // the first thread stands for all
  for (const HardwareAxis* axis : thread_axes()) {
    const auto first = to_affine(axis->first);
    place.values.insert_or_assign(axis->variable, first.value_or(Affine(0)));
    place.context.add_zero(Affine(axis->variable) - first.value_or(Affine(0)));
  }
  append(block, emit_level(segment, place));
}

CodeItem Emitter::thread_loops(const LoopTree& segment, const EmitContext& place) {
  EmitContext inside = place;
  inside.in_threads = true;
  CodeBlock body = emit_level(segment, inside);
  const std::vector<const HardwareAxis*> axes = thread_axes();
  for (std::size_t i = axes.size(); i-- > 0;) {
    const HardwareAxis& axis = *axes[i];
    const ExprScope scope = scope_of(place);
    CodeLoop loop{axis.variable,
                  options_.index_type,
                  lower_index(scope, axis.first),
                  lower_index(scope, axis.first + axis.extent),
                  1,
                  {},
                  {},
                  true,
                  {}};
    if (i + 1 == axes.size()) {
      loop.pragma = "omp simd";
    }
    loop.body = std::move(body);
    body = CodeBlock{{{std::move(loop)}}};
  }
  return std::move(body.items.front());
}

}  // namespace rtcg::loopy
