#include "rtcg/loopy/tune/compile_ahead.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/tune/leavable_thread.h"

namespace rtcg::loopy {
namespace {

TunedCandidate described(const RankedCandidate& ranked) {
  TunedCandidate tuned;
  tuned.words = ranked.words;
  tuned.predicted_us = ranked.predicted_seconds * 1e6;
  tuned.threads = ranked.threads;
  tuned.blocks = ranked.blocks;
  return tuned;
}

Candidate prepare(CandidateRunner& runner, std::size_t place, const RankedCandidate& ranked,
                  const std::stop_token& stop) {
  Candidate result{place, described(ranked)};
  try {
    result.prepared = runner.prepare(ranked, stop);
    result.tuned.resources = result.prepared->resources;
    const std::size_t spilled = result.tuned.resources.spill_store_bytes.value_or(0);
    constexpr std::size_t most_spilled_bytes = 2048;
    if (spilled > most_spilled_bytes) {
      result.tuned.refusal = fmt::format("spills {} bytes of registers", spilled);
    }
  } catch (const Error& error) {
    result.tuned.refusal = error.what();
  }
  return result;
}

/// The figures of a device may be inexact, for example if its clock is higher than reported:
/// candidates below twice the best theoretical time have a chance.
bool is_beaten(const RankedCandidate& ranked, double best_us) {
  return best_us > 0 && ranked.least_seconds * 1e6 > 2 * best_us;
}

Candidate beaten(std::size_t place, const RankedCandidate& ranked) {
  Candidate candidate{place, described(ranked)};
  candidate.tuned.refusal =
      fmt::format("not run: takes {:.1f} us at least, with {} blocks of {} threads",
                  ranked.least_seconds * 1e6, ranked.blocks, ranked.threads);
  return candidate;
}

}  // namespace

int compile_threads(const SearchOptions& options) {
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return options.compile_threads > 0 ? options.compile_threads : cores;
}

struct CompileAhead::Job {
  std::size_t place = 0;
  RankedCandidate ranked{};
  std::stop_source stop{};
  std::promise<Candidate> done{};
  std::future<Candidate> result = done.get_future();
};

bool CompileAhead::is_compiled(const std::shared_ptr<Job>& job) {
  return job->result.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

struct CompileAhead::Queue {
  std::mutex mutex{};  // of the two
  std::condition_variable is_filled{};
  std::deque<std::shared_ptr<Job>> jobs{};
  bool is_closed = false;
  std::atomic<int> compiling = 0;
};

CompileAhead::CompileAhead(const SearchSpace& space, std::shared_ptr<CandidateRunner> runner,
                           const SearchOptions& options, Search& search, const TuneLog& log,
                           AtEnd at_end)
    : space_(space),
      options_(options),
      search_(search),
      log_(log),
      at_end_(at_end),
      shares_cores_(runner->shares_cores()),
      queue_(std::make_shared<Queue>()) {
  const int threads = compile_threads(options);
  // candidates are taken in order: while one takes long the other threads continue
  const std::size_t rounds_ahead = shares_cores_ || threads == 1 ? 1 : 4;
  depth_ = static_cast<std::size_t>(threads) * rounds_ahead;
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([queue = queue_, runner] { work(queue, runner); });
  }
}

CompileAhead::~CompileAhead() {
  {
    const std::lock_guard lock(queue_->mutex);
    queue_->is_closed = true;
    queue_->jobs.clear();
  }
  queue_->is_filled.notify_all();
  for (const auto& each : open_) {
    each->stop.request_stop();
  }
  // the final round needs the cores for itself, but the wait is limited
  for (int i = 0; shares_cores_ && queue_->compiling > 0 && i < 80; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  // no thread is left to begin another
  if (at_end_ == AtEnd::leave && queue_->compiling > 0) {
    leave(std::move(threads_));
    return;
  }
  for (std::thread& each : threads_) {
    each.join();
  }
}

void CompileAhead::work(const std::shared_ptr<Queue>& queue,
                        const std::shared_ptr<CandidateRunner>& runner) {
  for (;;) {
    std::shared_ptr<Job> job;
    {
      std::unique_lock lock(queue->mutex);
      queue->is_filled.wait(lock, [&] { return queue->is_closed || !queue->jobs.empty(); });
      if (queue->is_closed) {
        return;
      }
      job = std::move(queue->jobs.front());
      queue->jobs.pop_front();
      ++queue->compiling;
    }
    try {
      job->done.set_value(prepare(*runner, job->place, job->ranked, job->stop.get_token()));
    } catch (...) {
      job->done.set_exception(std::current_exception());
    }
    --queue->compiling;
  }
}

void CompileAhead::fill(double best_us) {
  if (shares_cores_ && !open_.empty()) {
    return;
  }
  while (open_.size() < depth_ && given_ < options_.max_candidates) {
    const std::optional<std::size_t> place = search_.next();
    if (!place) {
      return;
    }
    ++given_;
    auto job = std::make_shared<Job>();
    job->place = *place;
    job->ranked = space_.candidate(*place);
    open_.push_back(job);
    if (const TunedCandidate* known = log_.find(job->ranked.words)) {
      Candidate candidate{*place, described(job->ranked), nullptr, true, known->microseconds};
      candidate.tuned.microseconds = known->microseconds;
      candidate.tuned.resources = known->resources;
      candidate.tuned.refusal = known->refusal;
      job->ranked.least_seconds = 0;  // it costs nothing
      job->done.set_value(std::move(candidate));
    } else if (!is_beaten(job->ranked, best_us)) {
      const std::lock_guard lock(queue_->mutex);
      queue_->jobs.push_back(std::move(job));
      queue_->is_filled.notify_one();
    }
  }
}

void CompileAhead::start() {
  fill(0);
}

std::optional<Candidate> CompileAhead::next(double best_us, const std::function<bool()>& is_over) {
  fill(best_us);
  if (open_.empty()) {
    return std::nullopt;
  }
  const std::shared_ptr<Job> first = open_.front();
  // called for each, compiled or not: the same times give the same search
  if (is_beaten(first->ranked, best_us)) {
    open_.pop_front();
    begin_ = std::chrono::steady_clock::now();
    return beaten(first->place, first->ranked);
  }
  constexpr std::chrono::milliseconds patience{300};
  while (!is_ready(*first)) {
    if (is_over()) {
      return std::nullopt;
    }
    const bool is_slow = std::chrono::steady_clock::now() - begin_ >= patience;
    if (const std::shared_ptr<Job> quickest = is_slow ? take_quickest() : nullptr) {
      return quickest->result.get();
    }
  }
  open_.pop_front();
  begin_ = std::chrono::steady_clock::now();
  return first->result.get();
}

std::shared_ptr<CompileAhead::Job> CompileAhead::take_quickest() {
  const auto found =
      shares_cores_ ? open_.end() : std::find_if(open_.begin(), open_.end(), is_compiled);
  if (found == open_.end()) {
    return nullptr;
  }
  std::shared_ptr<Job> job = *found;
  open_.erase(found);
  return job;
}

std::optional<Candidate> CompileAhead::next_promising(double best_us,
                                                      const std::function<bool()>& is_over) {
  {
    const std::lock_guard lock(queue_->mutex);  // no thread begins another
    std::erase_if(open_, [&](const auto& each) {
      return std::find(queue_->jobs.begin(), queue_->jobs.end(), each) != queue_->jobs.end();
    });
    queue_->jobs.clear();
  }
  std::vector<std::shared_ptr<Job>> promising;
  for (const auto& each : open_) {
    if (2e6 * each->ranked.predicted_seconds < best_us) {
      promising.push_back(each);
    } else {
      each->stop.request_stop();
    }
  }
  while (!promising.empty() && !is_over()) {
    const auto found = std::find_if(promising.begin(), promising.end(), is_compiled);
    if (found != promising.end()) {
      open_.erase(std::find(open_.begin(), open_.end(), *found));
      return (*found)->result.get();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return std::nullopt;
}

/// Waits a moment for it, and for all others that would be compiled while it runs.
bool CompileAhead::is_ready(const Job& first) const {
  constexpr std::chrono::milliseconds patience{20};
  if (first.result.wait_for(patience) != std::future_status::ready) {
    return false;
  }
  if (!shares_cores_) {
    return true;
  }
  {
    const std::lock_guard lock(queue_->mutex);
    if (queue_->jobs.empty() && queue_->compiling == 0) {
      return true;
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return false;
}

void CompileAhead::leave_rest() {
  for (const auto& each : open_) {
    each->stop.request_stop();
  }
  {
    const std::lock_guard lock(queue_->mutex);
    queue_->jobs.clear();
  }
  destroy_aside(std::move(open_));
  open_.clear();
}

void CompileAhead::drop_beaten(double best_us) {
  for (const auto& each : open_) {
    if (is_beaten(each->ranked, best_us)) {
      each->stop.request_stop();
    }
  }
  const std::lock_guard lock(queue_->mutex);
  std::erase_if(queue_->jobs, [](const auto& each) { return each->stop.stop_requested(); });
}

}  // namespace rtcg::loopy
