// Random kernels under random transformations give the numbers of the kernel as described, or a
// refusal with a code. RTCG_RANDOM_KERNELS says how many, RTCG_RANDOM_SEED where to begin.
#include <chrono>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/check/check_bounds.h"
#include "rtcg/loopy/check/check_kernel.h"
#include "rtcg/loopy/check/check_races.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/argument_data.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/preprocess/preprocess.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/recipe.h"
#include "rtcg/runtime/device/program.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  int below(int limit) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(limit)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class Items>
  const auto& of(const Items& items) {
    return items[static_cast<std::size_t>(below(static_cast<int>(items.size())))];
  }

 private:
  std::mt19937_64 engine_;
};

struct Case {
  std::uint64_t seed = 0;
  Kernel described{};
  Kernel transformed{};
  IntegerValues parameters{};
  std::string recipe{};
};

// ---- kernels ---------------------------------------------------------------------------------

/// Arrays a, b, c have 24 x 24 elements; every loop is shorter than that, and every shift is small.
std::string random_value(Random& random, const std::vector<std::string>& inames, int statement) {
  const auto index = [&](const std::string& iname) {
    switch (random.below(4)) {
      case 0:
        return fmt::format("{} + {}", iname, random.below(3));
      case 1:
        return fmt::format("14 - {}", iname);
      default:
        return iname;
    }
  };
  const auto read = [&] {
    return fmt::format("{}[{}, {}]", random.of(std::vector<std::string>{"a", "b", "c"}),
                       index(random.of(inames)), index(random.of(inames)));
  };
  std::string value = read();
  if (random.chance(60)) {
    value += (random.chance(50) ? " + " : "*") + read();
  }
  if (random.chance(35)) {
    const std::string operation = random.of(std::vector<std::string>{"sum", "max", "min"});
    value += fmt::format(" + reduce({}, r, a[{}, r]*b[r, {}])", operation, random.of(inames),
                         index(random.of(inames)));
  } else if (random.chance(15)) {
    value +=
        fmt::format(" - sum((r, q), a[{}, r] + b[q, {}])", random.of(inames), random.of(inames));
  }
  if (random.chance(20)) {
    value = fmt::format("if({} < 4, {}, {})", random.of(inames), value, read());
  }
  if (statement > 0 && random.chance(60)) {
    value += fmt::format(" + out{}[{}]", random.below(statement), fmt::join(inames, ", "));
  }
  return value;
}

Kernel random_kernel(Random& random) {
  const int loops = 1 + random.below(3);
  std::vector<std::string> inames;
  std::string conditions;
  for (int i = 0; i < loops; ++i) {
    const std::string iname(1, static_cast<char>('i' + i));
    std::string lower = random.chance(15) ? "1" : "0";
    std::string upper = random.of(std::vector<std::string>{"5", "7", "8", "12", "n", "n", "n"});
    if (i > 0 && random.chance(20)) {
      upper = fmt::format("{} + 1", inames.back());
    }
    conditions += fmt::format("{}{} <= {} < {}", i == 0 ? "" : " and ", lower, iname, upper);
    inames.push_back(iname);
  }
  std::string statements = "double(x) := 2*x\n";
  const int count = 1 + random.below(4);
  for (int i = 0; i < count; ++i) {
    std::string value = random_value(random, inames, i);
    if (random.chance(30)) {
      statements += fmt::format("<> t{} = {} {{id=t{}}}\n", i, value, i);
      value = fmt::format("t{}*t{} + double(t{})", i, i, i);
    }
    const std::string guard = random.chance(15) ? fmt::format(", if={} > 1", inames[0]) : "";
    statements +=
        fmt::format("out{}[{}] = {} {{id=s{}{}}}\n", i, fmt::join(inames, ", "), value, i, guard);
  }
  std::string arguments = "a, b, c: f64[24, 24]";
  for (int i = 0; i < count; ++i) {
    arguments += fmt::format("; out{}: f64[{}]", i,
                             fmt::join(std::vector<std::string>(inames.size(), "24"), ", "));
  }
  const std::string domains = fmt::format("{{[{}]: {}}} {{[r, q]: 0 <= r < 6 and 0 <= q < 3}}",
                                          fmt::join(inames, ", "), conditions);
  return make_kernel(domains, statements,
                     {.arguments = arguments + "; n: i32", .assumptions = "n >= 1 and n <= 13"});
}

// ---- transformations -------------------------------------------------------------------------

std::string random_step(Random& random, const Kernel& kernel) {
  const std::vector<std::string> inames = all_inames(kernel);
  const auto iname = [&] { return random.of(inames); };
  const auto tag = [&] {
    return random.of(std::vector<std::string>{"for", "unr", "ilp", "g.0", "g.1", "l.0", "l.1"});
  };
  const auto option = [&](const char* name) {
    return random.chance(60) ? fmt::format(", {}={}", name, tag()) : std::string();
  };
  switch (random.below(14)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return fmt::format("split_iname({}, {}{}{})", iname(),
                         random.of(std::vector<int>{1, 2, 3, 4, 5, 8, 16}), option("outer_tag"),
                         option("inner_tag"));
    case 4:
    case 5:
      return fmt::format("tag_inames({}:{})", iname(), tag());
    case 6:
      return fmt::format("join_inames([{}, {}])", iname(), iname());
    case 7:
      return fmt::format("duplicate_inames([{}], within=\"id:s{}\")", iname(), random.below(3));
    case 8:
      return fmt::format("prioritize_loops({}, {})", iname(), iname());
    case 9: {
      std::string sweep = iname();
      if (random.chance(60)) {
        sweep += ", " + iname();
      }
      return fmt::format("add_prefetch({}, [{}])",
                         random.of(std::vector<std::string>{"a", "b", "c"}), sweep);
    }
    case 10:
      return fmt::format("precompute(double, [{}])", iname());
    case 11:
      return fmt::format("split_reduction_{}({})", random.chance(50) ? "inward" : "outward",
                         iname());
    case 12:
      return random.chance(50) ? fmt::format("assignment_to_subst(t{})", random.below(3))
                               : std::string("expand_subst()");
    default:
      return random.chance(50) ? "fix_parameters(n:7)" : "assume(\"n >= 4\")";
  }
}

bool is_refusal(const Error& error) {
  return std::string(error.code()).rfind("loopy.", 0) == 0;
}

Case random_case(std::uint64_t seed, std::map<std::string, int>& refusals) {
  Random random(seed);
  Case result;
  result.seed = seed;
  result.described = random_kernel(random);
  result.transformed = result.described;
  result.parameters = {{"n", 7}};
  const int steps = 1 + random.below(6);
  for (int i = 0; i < steps; ++i) {
    const std::string step = random_step(random, result.transformed);
    try {
      result.transformed = apply_recipe(result.transformed, step);
      result.recipe += step + "\n";
    } catch (const Error& error) {
      if (!is_refusal(error)) {
        throw;
      }
      ++refusals[std::string(error.code())];
    }
  }
  return result;
}

std::string story(const Case& each) {
  return fmt::format("seed {}\n{}\nrecipe:\n{}", each.seed, to_string(each.described), each.recipe);
}

/// As an executor makes it ready. @throws Error
GeneratedProgram generated(const Kernel& kernel, const std::string& name) {
  Kernel typed = infer_types(expand_subst(kernel));
  check_kernel(typed);
  check_bounds(typed);
  check_races(choose_address_spaces(typed));
  typed.name = name;
  return generate(typed, Target::host, {.recipe_comment = false});
}

// ---- running them ----------------------------------------------------------------------------

ArgumentData run(const GeneratedProgram& generated, const runtime::Program& program,
                 const ArgumentData& data, const IntegerValues& parameters) {
  const runtime::Device host = runtime::Device::host();
  std::map<std::string, runtime::Buffer<std::byte>> buffers;
  runtime::ArgumentPack pack;
  for (const KernelParameter& parameter : generated.parameters) {
    if (parameter.is_array) {
      pack.add(buffers
                   .emplace(parameter.name,
                            runtime::Buffer<std::byte>(host, data.at(parameter.name).bytes))
                   .first->second);
    } else {
      pack.add(static_cast<std::int32_t>(parameters.at(parameter.name)));
    }
  }
  for (const LaunchPlan& launch : generated.launches) {
    std::uint64_t grid[3];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      grid[axis] = static_cast<std::uint64_t>(
          std::max<std::int64_t>(0, evaluate_integer(launch.grid[axis], parameters).value()));
    }
    program.kernel(launch.kernel_name)
        .launch(host.default_stream(), {{grid[0], grid[1], grid[2]}, {1, 1, 1}}, pack);
  }
  ArgumentData result = data;
  for (const auto& [name, buffer] : buffers) {
    result[name].bytes = buffer.to_vector();
  }
  return result;
}

struct Batch {
  struct Entry {
    Case what;
    GeneratedProgram described;
    GeneratedProgram transformed;
  };
  std::vector<Entry> entries{};
  std::string text{};
  std::set<std::string> helpers{};

  /// Functions such as rtcg_min_i32 stand in every module that calls them.
  std::string without_known_helpers(std::string module) {
    constexpr std::string_view head = "static inline ";
    for (std::size_t at = module.find(head); at != std::string::npos; at = module.find(head, at)) {
      const std::size_t end = module.find("\n}\n", at);
      const std::string function = module.substr(at, end + 3 - at);
      const bool is_helper =
          function.substr(0, function.find('(')).find(" rtcg_") != std::string::npos;
      if (is_helper && !helpers.insert(function).second) {
        module.erase(at, function.size());
      } else {
        at += head.size();
      }
    }
    return module;
  }

  void add(Case what, GeneratedProgram described, GeneratedProgram transformed) {
    for (const GeneratedProgram* each : {&described, &transformed}) {
      text += without_known_helpers(cgen::print_module(each->module, cgen::Dialect::c).text) + "\n";
    }
    entries.push_back({std::move(what), std::move(described), std::move(transformed)});
  }

  void run_and_compare() {
    if (entries.empty()) {
      return;
    }
    runtime::CompileOptions options;
    options.flags = {"-O0"};
    const runtime::Program program =
        runtime::Program::compile(runtime::Device::host(), text, options, "random_kernels");
    for (const Entry& each : entries) {
      SCOPED_TRACE(story(each.what));
      const ArgumentData data =
          random_arguments(infer_types(expand_subst(each.what.described)), each.what.parameters, 1);
      const DataDifference worst =
          largest_difference(run(each.transformed, program, data, each.what.parameters),
                             run(each.described, program, data, each.what.parameters));
      EXPECT_LE(worst.error, 1e-11)
          << worst.array << "[" << worst.index << "] is " << worst.left << ", not " << worst.right;
    }
    entries.clear();
    text.clear();
    helpers.clear();
  }
};

int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

TEST(RandomKernels, GiveTheirNumbersOrARefusal) {
  const int count = number_from("RTCG_RANDOM_KERNELS", 5000);
  const auto first = static_cast<std::uint64_t>(number_from("RTCG_RANDOM_SEED", 1));
  std::map<std::string, int> step_refusals;
  std::map<std::string, int> kernel_refusals;
  int ran = 0;
  Batch batch;
  for (int i = 0; i < count && !HasFailure(); ++i) {
    Case each;
    try {
      each = random_case(first + static_cast<std::uint64_t>(i), step_refusals);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "seed " << first + static_cast<std::uint64_t>(i) << ": " << error.what();
      break;
    }
    try {
      GeneratedProgram described = generated(each.described, fmt::format("d{}", i));
      GeneratedProgram transformed = generated(each.transformed, fmt::format("t{}", i));
      batch.add(each, std::move(described), std::move(transformed));
      ++ran;
    } catch (const Error& error) {
      if (!is_refusal(error)) {
        ADD_FAILURE() << error.what() << "\n" << story(each);
      }
      ++kernel_refusals[std::string(error.code())];
    }
    if (batch.entries.size() == 250) {
      batch.run_and_compare();
    }
  }
  batch.run_and_compare();
  // most must run, or nothing was tested
  EXPECT_GT(ran, count / 2);
  for (const auto& [code, times] : kernel_refusals) {
    RecordProperty(code, times);
    std::printf("%6d times %s\n", times, code.c_str());
  }
}

TEST(RandomKernels, GiveTheSameNumbersEverywhere) {
  std::map<std::string, int> refusals;
  int ran = 0;
  for (std::uint64_t seed = 1000001; ran < 25 && !HasFailure(); ++seed) {
    const Case each = random_case(seed, refusals);
    SCOPED_TRACE(story(each));
    try {
      static_cast<void>(generated(each.described, "probe"));
      static_cast<void>(generated(each.transformed, "probe"));
    } catch (const Error&) {
      continue;
    }
    expect_same_everywhere(each.transformed, each.described, each.parameters);
    ++ran;
  }
}

}  // namespace
}  // namespace rtcg::loopy
