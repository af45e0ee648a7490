#include "rtcg/distributed/exchange/process_rounds.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <new>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::distributed::detail {
namespace {

constexpr unsigned looks_by_life = 16;  // of the watch, until it asks whether a process has ended

/// The beginning of what a rank sends each partner; handles and the text follow.
struct Head {
  std::uint64_t is_able = 0;
  std::uint64_t text_bytes = 0;
  std::uint64_t handles = 0;
  runtime::MemoryHandle progress{};
};

template <class T>
void append(std::vector<std::byte>& bytes, const T& value) {
  const auto more = std::as_bytes(std::span<const T>(&value, 1));
  bytes.insert(bytes.end(), more.begin(), more.end());
}

template <class T>
T taken(std::span<const std::byte>& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return value;
}

}  // namespace

bool process_has_ended(std::int64_t number) {
  std::ifstream file(fmt::format("/proc/{}/stat", number));
  std::string text;
  if (!std::getline(file, text)) {
    return ::kill(static_cast<pid_t>(number), 0) != 0;
  }
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && name_end + 2 < text.size() &&
         (text[name_end + 2] == 'Z' || text[name_end + 2] == 'X');
}

struct SharedProgress::Words {
  std::atomic<std::uint64_t> sent = 0;
  std::atomic<std::uint32_t> is_closed = 0;
  std::atomic<std::uint32_t> is_over = 0;
  std::atomic<std::uint32_t> has_failed = 0;
  std::int64_t process = 0;
  char reason[1000] = {};
};

SharedProgress::SharedProgress()
    : own_(runtime::shareable_memory(runtime::Device::host(), sizeof(Words))) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  new (own_->host_pointer()) Words;
  words().process = ::getpid();
}

SharedProgress::SharedProgress(const runtime::MemoryHandle& handle)
    : theirs_(std::in_place, runtime::Device::host(), handle) {}

runtime::MemoryHandle SharedProgress::handle() const {
  return runtime::export_memory({runtime::Device::host(), own_->address(), own_->size_bytes()});
}

SharedProgress::Words& SharedProgress::words() const noexcept {
  return *reinterpret_cast<Words*>(own_ ? own_->address() : theirs_->ref().address());
}

void SharedProgress::count(std::uint64_t sent) noexcept {
  words().sent.store(sent, std::memory_order_release);
}
void SharedProgress::close() noexcept {
  words().is_closed.store(1, std::memory_order_release);
}
void SharedProgress::end() noexcept {
  words().is_over.store(1, std::memory_order_release);
}
void SharedProgress::fail(std::string_view reason) noexcept {
  Words& to = words();
  if (to.has_failed == 0) {
    reason.copy(to.reason, sizeof to.reason - 1);
    to.has_failed.store(1, std::memory_order_release);
  }
}
std::uint64_t SharedProgress::sent() const noexcept {
  return words().sent.load(std::memory_order_acquire);
}
bool SharedProgress::is_closed() const noexcept {
  return words().is_closed.load(std::memory_order_acquire) != 0;
}
bool SharedProgress::is_over() const noexcept {
  return words().is_over.load(std::memory_order_acquire) != 0;
}
std::optional<std::string> SharedProgress::failure() const {
  const Words& from = words();
  if (from.has_failed.load(std::memory_order_acquire) == 0) {
    return std::nullopt;
  }
  return std::string(from.reason, ::strnlen(from.reason, sizeof from.reason));
}
bool SharedProgress::is_dead() const {
  return !is_over() && process_has_ended(words().process) && !is_over();
}

KeptMemory::~KeptMemory() {
  if (!has_failed_) {  // otherwise partners' kernels have been ended, and some may never come
    wait(std::chrono::seconds(2));
  }
}

void KeptMemory::add(Entry entry) {
  entries_.push_back(std::move(entry));
  wait(std::chrono::milliseconds(200));  // partners end theirs at about the same time
}

void KeptMemory::wait(std::chrono::milliseconds longest) noexcept {
  const auto end = std::chrono::steady_clock::now() + longest;
  for (sweep(); !entries_.empty() && std::chrono::steady_clock::now() < end; sweep()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void KeptMemory::sweep() noexcept {
  const auto is_free = [](const Entry& entry) {
    return std::all_of(entry.partners.begin(), entry.partners.end(),
                       [](const auto& each) { return each->is_over() || each->is_dead(); });
  };
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(), is_free), entries_.end());
}

void KeptMemory::fail(std::string_view reason) noexcept {
  has_failed_ = true;
  for (const Entry& each : entries_) {
    each.own->fail(reason);
  }
}

ProcessRounds::ProcessRounds(int rank, std::string_view call, std::vector<int> partners,
                             runtime::Device device, std::shared_ptr<RoundsWatch> watch,
                             std::shared_ptr<KeptMemory> kept)
    : WatchedRounds(rank, call, partners.size()),
      partners_(std::move(partners)),
      device_(device),
      watch_(std::move(watch)),
      kept_(std::move(kept)),
      lives_(partners_.size()) {}

ProcessRounds::~ProcessRounds() {
  if (is_watched_) {
    forget_stream_ends();
    own_->close();
    wait_for_streams();
    watch_->remove(this);  // until here it lets streams go on
  }
  imported_.clear();
  if (own_ != nullptr) {
    own_->end();
    kept_->add({std::move(owner_), std::move(own_), std::move(others_)});
  }
}

std::optional<std::vector<ProcessRounds::Given>> ProcessRounds::trade(
    Transport& transport, std::span<const std::vector<std::byte>> texts,
    std::span<const runtime::BufferRef<std::byte>> memory, std::shared_ptr<const void> owner) {
  kept_->sweep();
  Head head;
  std::vector<runtime::MemoryHandle> handles;
  try {
    given_up_.emplace(device_, 1);
    own_ = std::make_shared<SharedProgress>();
    head.progress = own_->handle();
    for (const runtime::BufferRef<std::byte>& each : memory) {
      handles.push_back(runtime::export_memory(each));
    }
    head.is_able = 1;
    owner_ = std::move(owner);
  } catch (const Error&) {
    handles.clear();  // partners learn it
  }
  head.handles = handles.size();
  std::vector<std::vector<std::byte>> sent;
  for (const std::vector<std::byte>& text : texts) {
    std::vector<std::byte>& bytes = sent.emplace_back();
    head.text_bytes = text.size();
    append(bytes, head);
    for (const runtime::MemoryHandle& each : handles) {
      append(bytes, each);
    }
    bytes.insert(bytes.end(), text.begin(), text.end());
  }
  // lengths, then what they are of
  std::vector<std::uint64_t> sent_bytes;
  std::vector<std::uint64_t> received_bytes(partners_.size());
  for (const std::vector<std::byte>& each : sent) {
    sent_bytes.push_back(each.size());
  }
  std::vector<HostSend> sends;
  std::vector<HostReceive> receives;
  for (std::size_t i = 0; i < partners_.size(); ++i) {
    sends.push_back({partners_[i], std::as_bytes(std::span(sent_bytes).subspan(i, 1))});
    receives.push_back(
        {partners_[i], std::as_writable_bytes(std::span(received_bytes).subspan(i, 1))});
  }
  transport.exchange_on_host(call_, sends, receives);
  std::vector<std::vector<std::byte>> received;
  for (const std::uint64_t bytes : received_bytes) {
    received.emplace_back(bytes);
  }
  for (std::size_t i = 0; i < partners_.size(); ++i) {
    sends[i].values = sent[i];
    receives[i].values = received[i];
  }
  transport.exchange_on_host(call_, sends, receives);
  if (head.is_able == 0) {
    return std::nullopt;
  }
  std::vector<Given> result;
  try {
    for (const std::vector<std::byte>& each : received) {
      std::span<const std::byte> rest = each;
      const auto of_partner = taken<Head>(rest);
      if (of_partner.is_able == 0) {
        return std::nullopt;
      }
      others_.push_back(std::make_shared<const SharedProgress>(of_partner.progress));
      Given& given = result.emplace_back();
      for (std::uint64_t i = 0; i < of_partner.handles; ++i) {
        given.memory.push_back(
            imported_.emplace_back(device_, taken<runtime::MemoryHandle>(rest)).ref());
      }
      given.text.assign(rest.begin(), rest.end());
    }
  } catch (const Error&) {
    return std::nullopt;  // such as of another container, or of a GPU that this one does not reach
  }
  begin_watch();
  watch_->add(this);
  is_watched_ = true;
  return result;
}

runtime::BufferRef<const std::uint32_t> ProcessRounds::given_up() const {
  return given_up_->word(0);
}

void ProcessRounds::replay(int rounds, const std::function<void()>& launch) {
  check();
  launch();
  sent_ += static_cast<std::uint64_t>(rounds);
  own_->count(sent_);
  awaited_ = sent_ - 1;  // a round waits for those before it
}

void ProcessRounds::fail_partners(std::string_view reason) noexcept {
  if (own_ != nullptr) {
    own_->fail(reason);
  }
}

WatchedRounds::Progress ProcessRounds::progress(std::size_t partner) {
  const SharedProgress& other = *others_[partner];
  Life& life = lives_[partner];
  if (!life.is_dead && ++life.looks % looks_by_life == 0) {
    life.is_dead = other.is_dead();
  }
  const bool is_closed = other.is_closed();  // first: what it has sent before is counted
  return {partners_[partner], other.sent(), is_closed, life.is_dead, other.failure()};
}

void ProcessRounds::open() noexcept {
  given_up_->store(0, 1);
}

}  // namespace rtcg::distributed::detail
