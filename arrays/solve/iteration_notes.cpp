#include "rtcg/arrays/solve/iteration_notes.h"

#include <algorithm>
#include <cstring>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/interop/transfer.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/device/graph.h"

namespace rtcg::arrays::detail {

IterationNotes::IterationNotes(runtime::StreamRef stream, DType dtype, int kinds, int every)
    : stream_(stream),
      kinds_(kinds),
      every_(every),
      notes_(zeros(dtype, Extents{kinds, every + 1}, stream)) {
  for (int turn = 0; turn < 2; ++turn) {
    copies_.push_back({runtime::Buffer<std::byte>(stream.device(), notes_.size_bytes(),
                                                  runtime::MemoryKind::pinned)});
  }
}

IterationNotes::~IterationNotes() {
  for (const Copy& copy : copies_) {
    try {
      if (copy.arrived && !copy.arrived->is_done()) {
        copy.arrived->synchronize();
      }
    } catch (const Error&) {
      // the fault of earlier work is that work's, and shows at the next wait
      continue;
    }
  }
}

AnyArray IterationNotes::at(int kind, int step) const {
  return notes_(kind, step);
}

bool IterationNotes::run(std::int64_t most, const std::function<void(int)>& step,
                         const std::function<bool(const Batch&)>& is_done, Replay replay) {
  // a processor that computes itself has nothing to do while the host looks
  const std::size_t ahead = stream_.device().info().is_cpu ? 0 : 1;
  submitted_ = 0;
  read_ = 0;
  std::int64_t iterations = 0;
  std::optional<runtime::Graph> graph;
  const bool may_replay = replay == Replay::where_possible && can_replay();
  do {
    const int steps = static_cast<int>(std::min<std::int64_t>(every_, most - iterations));
    const auto run_steps = [&] {
      for (int number = 0; number < steps; ++number) {
        step(number);
      }
    };
    // the first batch compiles its kernels, which cannot be part of a graph
    if (may_replay && iterations > 0 && steps == every_) {
      if (!graph) {
        graph = runtime::capture(stream_, run_steps);
      }
      graph->launch(stream_);
    } else {
      run_steps();
    }
    submit_copy(steps);
    iterations += steps;
    if (submitted_ - read_ > ahead && is_done(read_oldest())) {
      return true;
    }
  } while (iterations < most);
  while (read_ < submitted_) {
    if (is_done(read_oldest())) {
      return true;
    }
  }
  return false;
}

bool IterationNotes::can_replay() const {
  const runtime::BackendKind kind = stream_.device().info().id.kind;
  const bool has_graphs =
      kind == runtime::BackendKind::host ||
      (kind == runtime::BackendKind::cuda && stream_.native_handle() != nullptr);
  return has_graphs && every_ % 2 == 0 && !runtime::detail::is_captured(stream_);
}

void IterationNotes::submit_copy(int steps) {
  Copy& copy = copies_[submitted_ % copies_.size()];
  copy.arrived = read_async(notes_, copy.values.host_span());
  copy.steps = steps;
  ++submitted_;
  if (steps > 0) {
    const AnyArray last = notes_(whole, steps);
    notes_(whole, 0).assign(last);
  }
}

IterationNotes::Batch IterationNotes::read_oldest() {
  Copy& copy = copies_[read_ % copies_.size()];
  const int first = read_ == 0 ? 0 : 1;
  ++read_;
  if (!copy.arrived->is_done()) {
    copy.arrived->synchronize();
  }
  Batch result{copy.steps, first, {}};
  const std::byte* bytes = copy.values.host_span().data();
  for (int kind = 0; kind < kinds_; ++kind) {
    std::vector<double>& values = result.values.emplace_back();
    for (int step = 0; step <= copy.steps; ++step) {
      const std::size_t place = static_cast<std::size_t>(kind * (every_ + 1) + step);
      if (notes_.dtype() == DType::f32) {
        float value = 0;
        std::memcpy(&value, bytes + place * sizeof value, sizeof value);
        values.push_back(value);
      } else {
        double value = 0;
        std::memcpy(&value, bytes + place * sizeof value, sizeof value);
        values.push_back(value);
      }
    }
  }
  return result;
}

}  // namespace rtcg::arrays::detail
