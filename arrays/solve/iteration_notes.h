#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "rtcg/arrays/core/array.h"
#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/event.h"

// How the host learns of iterations that run on a device, without waiting for each.

namespace rtcg::arrays::detail {

/// Scalars of iterations, which kernels write and the host reads in batches: an asynchronous copy
/// to pinned memory follows a batch, and the host looks at it when the next batch is on its way.
class IterationNotes {
 public:
  /// @param kinds  scalars of an iteration
  /// @param every  iterations of a batch, at most
  IterationNotes(runtime::StreamRef stream, DType dtype, int kinds, int every);
  /// Waits for copies that are under way.
  ~IterationNotes();
  IterationNotes(const IterationNotes&) = delete;
  IterationNotes& operator=(const IterationNotes&) = delete;

  /// Of an iteration of the present batch, as an array without axes; step 0 is what the batch
  /// begins with.
  [[nodiscard]] AnyArray at(int kind, int step) const;

  enum class Replay { never, where_possible };

  /// What the host has read of a batch.
  struct Batch {
    int steps = 0;
    int first = 0;  ///< the step that no batch before had: 0 of the first batch, else 1
    std::vector<std::vector<double>> values{};  ///< [kind][step], steps + 1 of each kind
  };
  /// Runs batches of `step(number within the batch, from 0 on)` until `is_done` says so, or after
  /// `most` iterations. A step reads at(kind, number) and writes at(kind, number + 1).
  ///
  /// Where the device is not the host's processor, a batch more than needed runs.
  /// @param replay  whether batches after the first one may run as a graph, where the device has
  ///         graphs and batches have an even number of steps: any two steps that follow each other
  ///         must submit the same work, and do nothing else
  /// @returns whether `is_done` said so
  /// @cost    one wait a batch at most
  bool run(std::int64_t most, const std::function<void(int)>& step,
           const std::function<bool(const Batch&)>& is_done, Replay replay = Replay::never);

 private:
  [[nodiscard]] bool can_replay() const;
  void submit_copy(int steps);
  [[nodiscard]] Batch read_oldest();

  struct Copy {
    runtime::Buffer<std::byte> values;
    std::optional<runtime::Event> arrived{};
    int steps = 0;
  };

  runtime::StreamRef stream_;
  int kinds_;
  int every_;
  AnyArray notes_;            // [kinds, every + 1]
  std::vector<Copy> copies_;  // two, in turns
  std::size_t submitted_ = 0;
  std::size_t read_ = 0;
};

}  // namespace rtcg::arrays::detail
