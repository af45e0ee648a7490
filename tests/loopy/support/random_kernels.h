#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/text_hash.h"
#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"

// Random kernels and random transformations of them, each from its seed.

namespace rtcg::loopy {

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
inline std::string random_value(Random& random, const std::vector<std::string>& inames,
                                int statement) {
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

/// A loop with a global barrier within: the host runs it.
inline void add_host_loop(Random& random, std::string& domains, std::string& statements,
                          std::string& arguments) {
  const auto shifted = [&](const char* iname) {
    const int shift = random.below(4);
    return shift == 3 ? fmt::format("14 - {}", iname) : fmt::format("{} + {}", iname, shift);
  };
  const std::string last = random.of(std::vector<std::string>{"2", "3", "n", "n - 5"});
  domains += fmt::format(" {{[t, x, y]: 0 <= t < {} and 0 <= x < {} and 0 <= y < {}}}", last,
                         random.of(std::vector<int>{5, 8, 12}), random.chance(50) ? "n" : "12");
  arguments += "; there, back: f64[24]";
  const bool is_passed_by_each = random.chance(15);
  const std::string second = is_passed_by_each ? "x" : "y";
  statements += is_passed_by_each ? "for t, x\n" : "for t\n";
  std::string value = fmt::format("0.5*back[{}] + a[x, t]", shifted("x"));
  if (random.chance(30)) {
    value += fmt::format(" + sum(r, b[r, x]*back[{}])", shifted("r"));
  }
  if (random.chance(40)) {
    statements += fmt::format("<> held = {} {{id=held, inames=t:x}}\n", value);
    value = "0.5*held + 0.25*double(held)";
  }
  statements +=
      fmt::format("there[{}] = {} {{id=there, inames=t:x}}\n... gbarrier\n", shifted("x"), value);
  statements += fmt::format("back[{}] = there[{}] + t {{id=back}}\n", shifted(second.c_str()),
                            shifted(second.c_str()));
  statements += random.chance(50) ? "... gbarrier\nend\n" : "end\n";
}

inline Kernel random_kernel(Random& random) {
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
  const std::vector<std::string> extents(inames.size(), "24");
  // from its own stream, so that seeds keep the rest of their kernels
  Random own(text_hash(statements));
  if (own.chance(25)) {  // what iterations hand on
    std::vector<std::string> here;
    std::vector<std::string> there;
    for (const std::string& iname : inames) {
      here.push_back(iname + " + 1");
      there.push_back(fmt::format("{} + {}", iname, own.below(3)));
    }
    statements += fmt::format("w[{}] = 0.5*w[{}] + a[{}, 0] {{id=w}}\n", fmt::join(here, ", "),
                              fmt::join(there, ", "), inames.back());
    arguments += fmt::format("; w: f64[{}]", fmt::join(extents, ", "));
  }
  if (own.chance(50)) {  // a rule as operation
    const std::string known = "reduce(max,";
    const std::string ruled = "reduce(farther,";
    for (std::size_t at = statements.find(known); at != std::string::npos;
         at = statements.find(known, at)) {
      statements.replace(at, known.size(), ruled);
    }
    statements = "farther(u, v) := if(u*u < v*v, v, u) {neutral=0}\n" + statements;
  }
  for (int i = 0; i < count; ++i) {
    arguments += fmt::format("; out{}: f64[{}]", i, fmt::join(extents, ", "));
  }
  std::string domains = fmt::format("{{[{}]: {}}} {{[r, q]: 0 <= r < 6 and 0 <= q < 3}}",
                                    fmt::join(inames, ", "), conditions);
  if (own.chance(20)) {
    add_host_loop(own, domains, statements, arguments);
  }
  return make_kernel(domains, statements,
                     {.arguments = arguments + "; n: i32", .assumptions = "n >= 1 and n <= 13"});
}

// ---- transformations -------------------------------------------------------------------------

inline std::string random_step(Random& random, const Kernel& kernel) {
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

inline bool is_refusal(const Error& error) {
  return std::string(error.code()).rfind("loopy.", 0) == 0;
}

inline Case random_case(std::uint64_t seed, std::map<std::string, int>& refusals) {
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

inline std::string story(const Case& each) {
  return fmt::format("seed {}\n{}\nrecipe:\n{}", each.seed, to_string(each.described), each.recipe);
}

}  // namespace rtcg::loopy
