#include "rtcg/distributed/exchange/peer_rounds.h"

#include <algorithm>
#include <tuple>

#include "rtcg/distributed/exchange/relax.h"
#include "rtcg/runtime/device/joint_launch.h"

namespace rtcg::distributed::detail {
namespace {

constexpr std::size_t slot_alignment = 256;
constexpr std::size_t flags_at_once = 4096;

std::size_t aligned(std::size_t bytes) {
  return (bytes + slot_alignment - 1) / slot_alignment * slot_alignment;
}

/// Guards who has joined lanes: asked when rounds are opened, and before the first joint launch.
std::mutex& joining() {
  static std::mutex& made = *new std::mutex;
  return made;
}

}  // namespace

LaneMemory::LaneMemory(runtime::Device device)
    : device_(device), flags_(std::make_shared<const runtime::Flags>(device, flags_at_once)) {}

LaneMemory::Area LaneMemory::take(int from, runtime::Device receiver, int to, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(free_.begin(), free_.end(), [&](const Area& each) {
    return each.from == from && each.to == to && each.bytes->count() >= bytes;
  });
  if (found != free_.end()) {
    Area area = std::move(*found);
    free_.erase(found);
    return area;
  }
  if (flags_used_ + 2 > flags_->count()) {
    flags_ = std::make_shared<const runtime::Flags>(device_, flags_at_once);
    flags_used_ = 0;
  }
  flags_used_ += 2;
  return {from, to, std::make_shared<const runtime::Buffer<std::byte>>(receiver, bytes), flags_,
          flags_used_ - 2};
}

void LaneMemory::give_back(Area area) noexcept {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(area));
}

Lane::Lane(std::shared_ptr<LaneMemory> memory, int from, runtime::Device receiver, int to,
           std::size_t bytes)
    : bytes_(bytes),
      memory_(std::move(memory)),
      area_(memory_->take(from, receiver, to, 2 * aligned(bytes))) {
  area_.flags->store(flag(0), 0);
  area_.flags->store(flag(1), 0);
}

Lane::~Lane() {
  memory_->give_back(std::move(area_));
}

runtime::BufferRef<std::byte> Lane::slot(std::uint64_t round) const {
  return area_.bytes->subrange(round % 2 * aligned(bytes_), bytes_);
}

std::size_t Lane::flag(std::uint64_t round) const noexcept {
  return area_.first_flag + round % 2;
}

// A slot's flag has bit 0 or 1, in turns: a wait finds the flag as it needs it without a reset.
void Lane::set(runtime::StreamRef stream, std::uint64_t round) const {
  area_.flags->set(stream, flag(round), bit(round));
}

void Lane::wait(runtime::StreamRef stream, std::uint64_t round) const {
  area_.flags->wait(stream, flag(round), bit(round));
}

runtime::BufferRef<std::uint32_t> Lane::word(std::uint64_t round) const {
  return area_.flags->word(flag(round));
}

std::uint32_t Lane::bit(std::uint64_t round) noexcept {
  return round / 2 % 2 == 0 ? 1 : 2;
}

void Lane::give(std::shared_ptr<const void> object) {
  const std::lock_guard lock(mutex_);
  given_ = std::move(object);
}

std::shared_ptr<const void> Lane::given() const {
  const std::lock_guard lock(mutex_);
  return given_;
}

void Lane::open() const noexcept {
  area_.flags->store(flag(0), 3);
  area_.flags->store(flag(1), 3);
}

void Lane::join(const std::shared_ptr<Attendance>& rank, bool is_sender) {
  const std::lock_guard lock(joining());
  (is_sender ? sender_ : receiver_) = rank;
}

std::shared_ptr<Attendance> Lane::attendance(bool of_sender) const {
  return (of_sender ? sender_ : receiver_).lock();
}

PeerRounds::PeerRounds(int rank, std::string_view call, std::vector<End> ends,
                       std::shared_ptr<RoundsWatch> watch)
    : WatchedRounds(rank, call, ends.size()),
      ends_(std::move(ends)),
      watch_(std::move(watch)),
      attendance_(std::make_shared<Attendance>()) {
  for (const End& each : ends_) {
    attendance_->lanes.insert(attendance_->lanes.end(), {each.out, each.in});
  }
  for (const End& each : ends_) {
    each.out->join(attendance_, true);
    each.in->join(attendance_, false);
  }
  begin_watch();
  watch_->add(this);
}

PeerRounds::~PeerRounds() {
  forget_stream_ends();
  for (const End& each : ends_) {
    each.out->is_closed = true;
  }
  wait_for_streams();
  watch_->remove(this);  // until here it lets streams go on
}

void PeerRounds::follow(runtime::StreamRef stream) {
  tell(stream);
  const std::lock_guard lock(mutex_);
  if (last_ && *last_ != stream) {
    stream.wait(last_->record({.with_timing = false}));
  }
  last_ = stream;
}

runtime::BufferRef<std::byte> PeerRounds::outgoing(std::size_t partner) const {
  return ends_.at(partner).out->slot(sent_);
}

void PeerRounds::send(runtime::StreamRef stream) {
  check();
  tell(stream);
  for (const End& each : ends_) {
    each.out->set(stream, sent_);
  }
  count_sent(1);
}

void PeerRounds::count_sent(std::uint64_t rounds) {
  sent_ += rounds;
  if (is_captured()) {
    return;  // nothing has been submitted
  }
  for (const End& each : ends_) {
    each.out->sent.store(sent_, std::memory_order_release);
  }
}

void PeerRounds::begin_capture() {
  before_capture_ = {sent_, received_};
}

void PeerRounds::end_capture() {
  std::tie(sent_, received_) = *before_capture_;
  before_capture_.reset();
}

void PeerRounds::replay(int rounds, const std::function<void()>& launch) {
  check();
  awaited_ = received_ + 1;
  launch_together(launch);
  count_sent(static_cast<std::uint64_t>(rounds));
  received_ += static_cast<std::uint64_t>(rounds);
  awaited_ = received_;
}

void PeerRounds::receive(runtime::StreamRef stream) {
  check();
  tell(stream);
  if (!is_captured()) {
    awaited_ = received_ + 1;
    for (const End& each : ends_) {
      wait_until([&] { return each.in->sent.load(std::memory_order_acquire) > received_; });
    }
  }
  for (const End& each : ends_) {
    each.in->wait(stream, received_);
  }
  ++received_;
}

// Another host is often less than a microsecond late, and a sleep takes longer than that.
template <class Condition>
void PeerRounds::wait_until(const Condition& is_met) const {
  constexpr int looks = 2000;
  constexpr int looks_with_turns = 200;  // of other threads, which may be the awaited ones
  constexpr auto pause = std::chrono::microseconds(20);
  const bool has_room = processors() > 2 * (ends_.size() + 1);
  for (int i = has_room ? 0 : looks; !is_met(); ++i) {
    check();
    if (i >= looks + looks_with_turns) {
      std::this_thread::sleep_for(pause);
    } else if (i >= looks) {
      std::this_thread::yield();
    } else {
      relax();
    }
  }
}

// Those that partners lead to, as each partner's host waits for its own ones; false: some have yet
// to open their rounds.
bool PeerRounds::find_all() {
  const std::lock_guard lock(joining());
  std::vector<std::shared_ptr<Attendance>> found = {attendance_};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::shared_ptr<Attendance> from = found[i];
    for (const std::shared_ptr<Lane>& lane : from->lanes) {
      for (const bool is_sender : {true, false}) {
        std::shared_ptr<Attendance> each = lane->attendance(is_sender);
        if (each == nullptr) {
          return false;
        }
        if (std::find(found.begin(), found.end(), each) == found.end()) {
          found.push_back(std::move(each));
        }
      }
    }
  }
  std::sort(found.begin(), found.end());
  all_ = std::move(found);
  return true;
}

// The first launch waits on its device for the last one. When all hosts have come here, nothing but
// these launches is submitted until all have been.
void PeerRounds::launch_together(const std::function<void()>& launch) {
  const std::uint64_t number = ++attendance_->arrived;
  const auto count_launch = [&] {
    Attendance& of_all = *all_.front();
    if (++of_all.launched >= number * all_.size()) {  // more where launches have failed
      runtime::detail::end_joint_launches(of_all.held.exchange(0));
    }
  };
  try {
    wait_until([&] {
      return (!all_.empty() || find_all()) &&
             std::all_of(all_.begin(), all_.end(), [&](const auto& each) {
               return each->arrived.load(std::memory_order_acquire) >= number;
             });
    });
    runtime::detail::begin_joint_launch();
    ++all_.front()->held;
    launch();
  } catch (...) {
    // others may have seen this rank arrive: they end what they hold without it
    --attendance_->arrived;
    if (!all_.empty() || find_all()) {
      count_launch();
    }
    throw;
  }
  count_launch();
}

runtime::BufferRef<const std::byte> PeerRounds::incoming(std::size_t partner) const {
  return ends_.at(partner).in->slot(received_ - 1);
}

PeerRounds::Ports PeerRounds::ports(std::size_t partner) const {
  const End& end = ends_.at(partner);
  return {end.out->slot(sent_), end.out->word(sent_), end.in->slot(sent_), end.in->word(sent_)};
}

runtime::BufferRef<std::uint32_t> PeerRounds::counter(runtime::Device device) {
  if (!counter_) {
    counter_.emplace(device, std::vector<std::uint32_t>{0});
  }
  return counter_->ref();
}

std::vector<std::shared_ptr<const void>> PeerRounds::trade(std::shared_ptr<const void> own) {
  check();
  for (const End& each : ends_) {
    each.out->give(own);
  }
  awaited_ = received_ + 1;  // the watch looks after the partners meanwhile
  std::vector<std::shared_ptr<const void>> result;
  for (const End& each : ends_) {
    wait_until([&] { return each.in->given() != nullptr; });
    result.push_back(each.in->given());
  }
  awaited_ = received_;
  return result;
}

// Only open() sets flags where nothing is sent and received.
runtime::BufferRef<const std::uint32_t> PeerRounds::given_up() const {
  return ends_.at(0).in->word(0);
}

void PeerRounds::forget(runtime::StreamRef stream) noexcept {
  WatchedRounds::forget(stream);
  const std::lock_guard lock(mutex_);
  if (last_ == stream) {
    last_.reset();
  }
}

WatchedRounds::Progress PeerRounds::progress(std::size_t partner) {
  const End& end = ends_[partner];
  const bool is_closed = end.in->is_closed;  // first: what it has sent before is counted
  return {end.partner.rank, end.in->sent, is_closed};
}

void PeerRounds::open() noexcept {
  for (const End& each : ends_) {
    each.in->open();
  }
}

}  // namespace rtcg::distributed::detail
