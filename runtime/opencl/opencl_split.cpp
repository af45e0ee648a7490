// Parts of a device.
#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/opencl/opencl_backend.h"

namespace rtcg::runtime::opencl {
namespace {

/// The ways in which the device can be split.
std::vector<cl_device_partition_property> ways_of(const Api& api, cl_device_id device) {
  std::size_t size_bytes = 0;
  if (api.clGetDeviceInfo(device, CL_DEVICE_PARTITION_PROPERTIES, 0, nullptr, &size_bytes) !=
      CL_SUCCESS) {
    return {};
  }
  std::vector<cl_device_partition_property> ways(size_bytes / sizeof(cl_device_partition_property));
  api.clGetDeviceInfo.must("ask how a device can be split", device, CL_DEVICE_PARTITION_PROPERTIES,
                           size_bytes, ways.data(), nullptr);
  return ways;
}

bool has_nodes(const Api& api, cl_device_id device) {
  cl_device_affinity_domain domains = 0;
  return api.clGetDeviceInfo(device, CL_DEVICE_PARTITION_AFFINITY_DOMAIN, sizeof(domains), &domains,
                             nullptr) == CL_SUCCESS &&
         (domains & CL_DEVICE_AFFINITY_DOMAIN_NUMA) != 0;
}

/// What clCreateSubDevices is to do; empty if the device cannot.
std::vector<cl_device_partition_property> plan(const Api& api, cl_device_id device, int units,
                                               int count) {
  const std::vector<cl_device_partition_property> ways = ways_of(api, device);
  const auto has = [&](cl_device_partition_property way) {
    return std::find(ways.begin(), ways.end(), way) != ways.end();
  };
  if (count == DevicePart::by_numa_node) {
    if (!has(CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN) || !has_nodes(api, device)) {
      return {};
    }
    return {CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, CL_DEVICE_AFFINITY_DOMAIN_NUMA, 0};
  }
  if (units % count == 0 && has(CL_DEVICE_PARTITION_EQUALLY)) {
    return {CL_DEVICE_PARTITION_EQUALLY, units / count, 0};
  }
  if (!has(CL_DEVICE_PARTITION_BY_COUNTS)) {
    return {};
  }
  std::vector<cl_device_partition_property> counts = {CL_DEVICE_PARTITION_BY_COUNTS};
  for (int i = 0; i < count; ++i) {
    counts.push_back(units / count + (i < units % count ? 1 : 0));
  }
  counts.push_back(CL_DEVICE_PARTITION_BY_COUNTS_LIST_END);
  counts.push_back(0);
  return counts;
}

}  // namespace

std::vector<Backend*> OpenClBackend::split(int count) {
  const std::lock_guard lock(split_mutex_);
  if (const auto known = parts_.find(count); known != parts_.end()) {
    return known->second;
  }
  const std::vector<cl_device_partition_property> planned =
      plan(api_, device_, info_.multiprocessors, count);
  cl_uint made = 0;
  const bool is_able =
      !planned.empty() &&
      api_.clCreateSubDevices(device_, planned.data(), 0, nullptr, &made) == CL_SUCCESS && made > 0;
  if (!is_able) {
    throw Unsupported(
        "runtime.device.cannot_split",
        fmt::format("the driver of '{}' does not split it {}", info_.name,
                    count == DevicePart::by_numa_node ? std::string("by NUMA nodes")
                                                      : fmt::format("into {} parts", count)));
  }
  std::vector<cl_device_id> ids(made);
  api_.clCreateSubDevices.must("split a device", device_, planned.data(), made, ids.data(),
                               nullptr);
  std::vector<Backend*>& parts = parts_[count];
  for (const cl_device_id id : ids) {
    // never destroyed, like whole devices
    const DevicePart part{static_cast<int>(parts.size()), count};
    parts.push_back(new OpenClBackend(api_, id, {BackendKind::opencl, info_.id.index, part}));
  }
  return parts;
}

}  // namespace rtcg::runtime::opencl
