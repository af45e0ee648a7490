// rtcg_bench_gpu [section...] [--json FILE]: ours and the peers in one run, on one GPU; those that
// begin with `scaling` on all.
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "bench/gpu/sections.h"
#include "rtcg/runtime/device/device.h"

namespace rtcg::bench {
namespace {

using Section = void (*)(runtime::Device, Report&);

const std::map<std::string, Section>& sections() {
  static const std::map<std::string, Section> all = {
      {"launch", measure_launch},
      {"graph_loops", measure_graph_loops},
      {"joined_launches", measure_joined_launches},
      {"matmul", measure_matmul},
      {"tune_matmul", measure_tune_matmul},
      {"transpose", measure_transpose},
      {"tune_small", measure_tune_small},
      {"tune_dg", measure_tune_dg},
      {"trial_rate", measure_trial_rate},
      {"search_quality", measure_search_quality},
      {"tune_roofline", measure_tune_roofline},
      {"stencil", measure_stencil},
      {"reduce", measure_reduce},
      {"elementwise", measure_elementwise},
      {"reductions", measure_reductions},
      {"scan", measure_scan},
      {"select", measure_select},
      {"sort", measure_sort},
      {"histogram", measure_histogram},
      {"fft", measure_fft},
      {"spmv", measure_spmv},
      {"spmv_formats", measure_spmv_formats},
      {"spmv_shapes", measure_spmv_shapes},
      {"cg", measure_cg},
      {"preconditioners", measure_preconditioners},
      {"strided", measure_strided},
      {"host_cost", measure_host_cost},
      {"random", measure_random},
      {"dg_steps", measure_dg_steps},
      {"dg_maxwell", measure_dg_maxwell},
      {"dg_maxwell_search", measure_dg_maxwell_search},
      {"dg_maxwell_split", measure_dg_maxwell_split},
      {"dg_tuning", measure_dg_tuning},
      {"scaling_calls", measure_scaling_calls},
      {"scaling_products", measure_scaling_products},
      {"scaling_strong", measure_scaling_strong},
      {"scaling_weak", measure_scaling_weak}};
  return all;
}

// The section of that name, or those whose names begin with it and an underscore.
std::vector<std::string> sections_of(const std::string& name) {
  if (sections().contains(name)) {
    return {name};
  }
  std::vector<std::string> found;
  for (const auto& [each, section] : sections()) {
    if (each.starts_with(name + "_")) {
      found.push_back(each);
    }
  }
  return found;
}

int fail(const std::string& message) {
  std::fprintf(stderr, "rtcg_bench_gpu: %s\n", message.c_str());
  return 2;
}

void print_help() {
  std::printf("usage: rtcg_bench_gpu [section...] [--json FILE]\nsections, all by default:");
  for (const auto& [name, section] : sections()) {
    std::printf(" %s", name.c_str());
  }
  std::printf("\n");
  std::printf("`scaling` stands for all that begin with `scaling_`, and so on\n");
  std::printf(
      "RTCG_TUNE_SECONDS=S     bounds each case of those with `tune`\n"
      "RTCG_DG_ORDERS=4,7      chooses orders of those with `dg_`\n"
      "RTCG_DG_SECONDS=S       bounds their searches\n"
      "RTCG_SPMV_MATRICES=A,B  chooses matrices of `spmv` by parts of their names\n"
      "RTCG_SCALING_SECONDS=S  is the time of each figure of those with `scaling_`\n"
      "RTCG_SCALING_CELLS=N    leaves out meshes of `scaling_strong` with more cells along an "
      "axis\n"
      "RTCG_SCALING_WAYS=A,B   takes some of the ways peer, hosts, nccl, stores and measured "
      "only\n");
}

int run(const std::vector<std::string>& wanted, const std::string& json_path) {
  const std::string& why_none = runtime::why_no_devices(runtime::BackendKind::cuda);
  if (!why_none.empty()) {
    return fail("there is no CUDA device: " + why_none);
  }
  const runtime::Device device = runtime::Device::find("cuda:0");
  std::printf("%s, %s\n", device.info().name.c_str(), device.identity().c_str());
  Report report;
  for (const std::string& name : wanted) {
    sections().at(name)(device, report);
  }
  report.print();
  if (!json_path.empty() && !report.write_json_lines(json_path)) {
    return fail("cannot write '" + json_path + "'");
  }
  return 0;
}

int main_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> wanted;
  std::string json_path;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--help") {
      print_help();
      return 0;
    }
    if (arguments[i] == "--json") {
      if (i + 1 == arguments.size()) {
        return fail("--json takes the name of a file");
      }
      json_path = arguments[++i];
    } else if (const auto found = sections_of(arguments[i]); !found.empty()) {
      wanted.insert(wanted.end(), found.begin(), found.end());
    } else {
      return fail("there is no section '" + arguments[i] + "'; --help lists them");
    }
  }
  if (wanted.empty()) {
    for (const auto& [name, section] : sections()) {
      wanted.push_back(name);
    }
  }
  return run(wanted, json_path);
}

}  // namespace
}  // namespace rtcg::bench

int main(int argc, char** argv) {
  // a run that is ended by force has printed what it has measured
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    return rtcg::bench::main_of({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rtcg_bench_gpu: %s\n", error.what());
    return 1;
  }
}
