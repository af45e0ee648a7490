#include "rtcg/arrays/fft/twiddles.h"

#include <bit>
#include <cmath>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numbers>
#include <span>
#include <tuple>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/graph.h"

namespace rtcg::arrays::detail {
namespace {

using runtime::Buffer;

constexpr std::size_t most_bytes = std::size_t{256} << 20;

class Tables {
 public:
  static Tables& instance() {
    static Tables& made = *new Tables;  // never destroyed: drivers may be unloaded first
    return made;
  }

  using Key = std::tuple<const runtime::Backend*, DType, std::string>;

  std::shared_ptr<const Buffer<std::byte>> find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto found = tables_.find(key);
    if (found == tables_.end()) {
      return nullptr;
    }
    by_use_.splice(by_use_.end(), by_use_, found->second.use);
    return found->second.values;
  }

  std::shared_ptr<const Buffer<std::byte>> add(const Key& key,
                                               std::shared_ptr<const Buffer<std::byte>> values) {
    const std::lock_guard lock(mutex_);
    const auto found = tables_.find(key);
    if (found != tables_.end()) {
      return found->second.values;  // another thread was faster
    }
    forget_for(std::get<0>(key), values->size_bytes());
    tables_.emplace(key, Entry{values, by_use_.insert(by_use_.end(), key)});
    bytes_[std::get<0>(key)] += values->size_bytes();
    return values;
  }

 private:
  struct Entry {
    std::shared_ptr<const Buffer<std::byte>> values;
    std::list<Key>::iterator use;
  };

  /// Makes room on that device.
  void forget_for(const runtime::Backend* backend, std::size_t added) {
    std::size_t& bytes = bytes_[backend];
    if (runtime::detail::is_any_captured()) {
      return;  // to give memory back is to wait, which a capture does not allow
    }
    for (auto next = by_use_.begin(); next != by_use_.end() && bytes + added > most_bytes;) {
      if (std::get<0>(*next) != backend) {
        ++next;
        continue;
      }
      const auto entry = tables_.find(*next);
      bytes -= entry->second.values->size_bytes();
      tables_.erase(entry);
      next = by_use_.erase(next);
    }
  }

  std::mutex mutex_;
  std::map<Key, Entry> tables_;
  std::list<Key> by_use_;  // what was used longest ago first
  std::map<const runtime::Backend*, std::size_t> bytes_;
};

template <class T>
std::shared_ptr<const Buffer<std::byte>> copy_to(runtime::Device device,
                                                 const std::vector<std::complex<double>>& values) {
  std::vector<std::complex<T>> rounded;
  rounded.reserve(values.size() + 1);
  for (const std::complex<double>& value : values) {
    rounded.emplace_back(static_cast<T>(value.real()), static_cast<T>(value.imag()));
  }
  if (rounded.empty()) {
    rounded.emplace_back();  // kernels get an address in any case
  }
  const auto wait_and_free = [](const Buffer<std::byte>* table) {
    try {
      table->device().synchronize();  // kernels may still read it
    } catch (const Error&) {
      // a broken device reads no more
    }
    delete table;
  };
  return {new Buffer<std::byte>(device, std::as_bytes(std::span<const std::complex<T>>(rounded))),
          wait_and_free};
}

}  // namespace

std::complex<double> root_of_unity(std::int64_t k, std::int64_t n) {
  k %= n;
  if (k < 0) {
    k += n;
  }
  // angles of at most an eighth of a circle, so that equal numbers come out equal
  const std::int64_t eighth = 8 * k / n;
  const std::int64_t quarters = (eighth + 1) / 2;
  // k - quarters n / 4, times 4
  const long double angle = std::numbers::pi_v<long double> / 2 *
                            static_cast<long double>(4 * k - quarters * n) /
                            static_cast<long double>(n);
  const auto cosine = static_cast<double>(std::cos(angle));
  const auto sine = static_cast<double>(std::sin(angle));
  switch (quarters % 4) {
    case 0:
      return {cosine, -sine};
    case 1:
      return {-sine, -cosine};
    case 2:
      return {-cosine, sine};
    default:
      return {sine, cosine};
  }
}

std::vector<std::complex<double>> pass_factors(const std::vector<int>& radices) {
  std::vector<std::complex<double>> result;
  std::int64_t stride = 1;
  for (const int radix : radices) {
    for (int q = 1; stride > 1 && q < radix; ++q) {
      for (std::int64_t lane = 0; lane < stride; ++lane) {
        result.push_back(root_of_unity(lane * q, stride * radix));
      }
    }
    stride *= radix;
  }
  return result;
}

RootBits root_bits(std::int64_t n) {
  const int all = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
  RootBits bits;
  bits.fine = (all + 1) / 2;
  bits.fine_count = std::int64_t{1} << bits.fine;
  bits.coarse_count = ((n - 1) >> bits.fine) + 1;
  return bits;
}

std::vector<std::complex<double>> fine_roots(std::int64_t n) {
  std::vector<std::complex<double>> result;
  for (std::int64_t k = 0; k < root_bits(n).fine_count; ++k) {
    result.push_back(root_of_unity(k, n));
  }
  return result;
}

std::vector<std::complex<double>> coarse_roots(std::int64_t n) {
  const RootBits bits = root_bits(n);
  std::vector<std::complex<double>> result;
  for (std::int64_t k = 0; k < bits.coarse_count; ++k) {
    result.push_back(root_of_unity(k << bits.fine, n));
  }
  return result;
}

DeviceTable table_on(runtime::StreamRef stream, DType dtype, const std::string& name,
                     const std::function<std::vector<std::complex<double>>()>& make) {
  Tables& tables = Tables::instance();
  const Tables::Key key(&stream.device().backend(), dtype, name);
  std::shared_ptr<const Buffer<std::byte>> values = tables.find(key);
  if (!values) {
    values = tables.add(key, dtype == DType::c64 ? copy_to<float>(stream.device(), make())
                                                 : copy_to<double>(stream.device(), make()));
  }
  if (runtime::detail::is_any_captured()) {
    runtime::detail::keep_in_graph(stream, values);
  }
  return {values->address(), values};
}

}  // namespace rtcg::arrays::detail
