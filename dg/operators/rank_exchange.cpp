#include "rtcg/dg/operators/rank_exchange.h"

#include <algorithm>
#include <cstring>

#include "rtcg/cgen/support/error.h"

namespace rtcg::dg::detail {
namespace {

using distributed::HostReceive;
using distributed::HostSend;

std::vector<std::int64_t> own_places(const MeshPart& part) {
  return {part.places.begin(), part.places.begin() + static_cast<std::ptrdiff_t>(part.owned)};
}

}  // namespace

distributed::Group group_of(const Discretization& on, runtime::Device device) {
  return on.group ? *on.group : distributed::Group(device);
}

std::size_t whole_element_count(const Discretization& on) {
  return on.part ? on.part->whole_elements : on.element_count();
}

std::vector<std::byte> gather_elements(const Discretization& on, const std::vector<std::byte>& own,
                                       std::size_t bytes) {
  if (!on.part) {
    return own;
  }
  const auto places = on.group->gather(distributed::bytes_of(own_places(*on.part)));
  const auto values = on.group->gather(own);
  std::vector<std::byte> whole;
  if (on.group->is_first()) {
    whole.resize(on.part->whole_elements * bytes);
  }
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const std::byte* from = values[rank].data();
    for (const std::int64_t place : distributed::values_of<std::int64_t>(places[rank])) {
      std::copy_n(from, bytes, whole.data() + static_cast<std::size_t>(place) * bytes);
      from += bytes;
    }
  }
  return whole;
}

std::vector<std::byte> scatter_elements(const Discretization& on,
                                        const std::vector<std::byte>& whole, std::size_t bytes) {
  if (!on.part) {
    return whole;
  }
  std::vector<std::vector<std::byte>> parts;
  for (const std::vector<std::byte>& each :
       on.group->gather(distributed::bytes_of(own_places(*on.part)))) {
    std::vector<std::byte>& part = parts.emplace_back();
    for (const std::int64_t place : distributed::values_of<std::int64_t>(each)) {
      const std::byte* from = whole.data() + static_cast<std::size_t>(place) * bytes;
      part.insert(part.end(), from, from + bytes);
    }
  }
  return on.group->scatter(parts);
}

double sum_over_elements(const Discretization& on, const std::vector<double>& own,
                         std::size_t terms) {
  const auto sum_of = [](const std::vector<double>& values) {
    double sum = 0;
    for (const double each : values) {
      sum += each;
    }
    return sum;
  };
  if (!on.part) {
    return sum_of(own);
  }
  const std::span<const std::byte> bytes = distributed::bytes_of(own);
  const std::vector<std::byte> whole =
      gather_elements(on, {bytes.begin(), bytes.end()}, terms * sizeof(double));
  const std::vector<double> sum = {sum_of(distributed::values_of<double>(whole))};
  return distributed::values_of<double>(on.group->broadcast(distributed::bytes_of(sum)))[0];
}

SystemData with_materials_of_ghosts(SystemData data, const Discretization& on) {
  if (!on.part || on.part->neighbours.empty()) {
    return data;
  }
  for (auto& [name, values] : data.materials) {
    values.resize(on.part->owned + on.part->ghosts);
    std::vector<std::vector<double>> out;
    std::vector<std::vector<double>> in;
    for (const PartNeighbour& neighbour : on.part->neighbours) {
      std::vector<double>& sent = out.emplace_back();
      for (const std::uint32_t element : neighbour.sent_elements) {
        sent.push_back(values[element]);
      }
      in.emplace_back(neighbour.received_elements.size());
    }
    std::vector<HostSend> sends;
    std::vector<HostReceive> receives;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const int rank = on.part->neighbours[i].part;
      sends.push_back({rank, distributed::bytes_of(out[i])});
      receives.push_back({rank, std::as_writable_bytes(std::span<double>(in[i]))});
    }
    on.group->exchange(sends, receives, "exchange of materials");
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::vector<std::uint32_t>& elements = on.part->neighbours[i].received_elements;
      for (std::size_t j = 0; j < elements.size(); ++j) {
        values[elements[j]] = in[i][j];
      }
    }
  }
  return data;
}

}  // namespace rtcg::dg::detail
