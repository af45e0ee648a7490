#include "rtcg/loopy/slice/slicing.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::loopy {
namespace {

[[noreturn]] void fail(std::string_view text, const std::string& what) {
  throw InvalidInput("loopy.parse_slicing.syntax",
                     fmt::format("cannot read the slicing '{}': {}; write "
                                 "'i: g.0 l.0*64 ilp*2; k: for for*8; fetch a transposed pad 1'",
                                 text, what));
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    words.push_back(word);
  }
  return words;
}

std::int64_t parse_number(std::string_view text, std::string_view digits) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < 0) {
    fail(text, fmt::format("'{}' is not a number", digits));
  }
  return value;
}

/// `k_0,i_0`
std::vector<std::string> parse_names(std::string_view text, const std::string& word) {
  std::vector<std::string> names;
  std::istringstream stream(word);
  for (std::string name; std::getline(stream, name, ',');) {
    names.push_back(name);
  }
  if (names.empty() || std::find(names.begin(), names.end(), "") != names.end()) {
    fail(text, fmt::format("'{}' is not a list of loops such as 'k_0,i_0'", word));
  }
  return names;
}

FetchPlan parse_fetch(std::string_view text, const std::vector<std::string>& words) {
  if (words.size() < 2) {
    fail(text, "'fetch' names no array");
  }
  FetchPlan plan;
  const std::size_t sign = words[1].find('#');
  plan.array = words[1].substr(0, sign);
  if (sign != std::string::npos) {
    plan.group = parse_number(text, std::string_view(words[1]).substr(sign + 1));
    if (plan.group == 0) {
      fail(text, "groups of reads are counted from 1 on");
    }
  }
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (words[i] == "transposed") {
      plan.is_transposed = true;
    } else if (words[i] == "pad" && i + 1 < words.size()) {
      plan.padding = parse_number(text, words[++i]);
    } else if (words[i] == "xor") {
      plan.is_swizzled = true;
    } else if (words[i] == "vec" && i + 1 < words.size()) {
      plan.vector_width = parse_number(text, words[++i]);
    } else if (words[i] == "stages" && i + 1 < words.size()) {
      plan.stages = parse_number(text, words[++i]);
    } else if (words[i] == "over" && i + 1 < words.size()) {
      plan.swept = parse_names(text, words[++i]);
    } else if (words[i] == "registers") {
      plan.in_registers = true;
    } else if (words[i] == "at" && i + 1 < words.size()) {
      plan.at = words[++i];
    } else {
      fail(text, fmt::format("did not expect '{}' after 'fetch'", words[i]));
    }
  }
  if (plan.is_swizzled && plan.padding != 0) {
    fail(text, "'xor' replaces 'pad' and is not combined with it");
  }
  if (plan.in_registers && (plan.is_transposed || plan.is_swizzled || plan.padding != 0 ||
                            plan.vector_width != 0 || plan.stages != 0)) {
    fail(text, "'registers' have neither rows nor banks nor buffers: only 'over' may be added");
  }
  FetchPlan plane;
  plane.array = plan.array;
  plane.stages = plan.stages;
  plane.at = plan.at;
  if (!plan.at.empty() && plan != plane) {
    fail(text, "to 'at', which names a loop that is marched along, only 'stages' may be added");
  }
  return plan;
}

/// `store s[i,j]`, `once s[i]`
StorePlan parse_store(std::string_view text, const std::vector<std::string>& words) {
  const std::size_t open = words.size() == 2 ? words[1].find('[') : std::string::npos;
  if (open == 0 || open == std::string::npos || words[1].back() != ']') {
    fail(text, fmt::format("'{0}' takes a new name and inames, without spaces, '{0} s[i,j]'",
                           words.front()));
  }
  return {words[1].substr(0, open),
          parse_names(text, words[1].substr(open + 1, words[1].size() - open - 2)),
          words.front() == "once"};
}

/// `phases y*2`
PhasePlan parse_phases(std::string_view text, const std::vector<std::string>& words) {
  const std::size_t star = words.size() == 2 ? words[1].find('*') : std::string::npos;
  if (star == 0 || star == std::string::npos) {
    fail(text, "'phases' takes a loop and their number, 'phases y*2'");
  }
  return {words[1].substr(0, star),
          parse_number(text, std::string_view(words[1]).substr(star + 1))};
}

/// `fuse k = e*4 f*8`
InameFusion parse_fusion(std::string_view text, const std::vector<std::string>& words) {
  if (words.size() < 5 || words[2] != "=") {
    fail(text, "'fuse' takes a new name and two or more inames, 'fuse ab = a b*4'");
  }
  InameFusion fusion{words[1]};
  for (std::size_t i = 3; i < words.size(); ++i) {
    const std::size_t star = words[i].find('*');
    FusedIname part{words[i].substr(0, star)};
    if (star != std::string::npos) {
      part.tile = parse_number(text, std::string_view(words[i]).substr(star + 1));
      if (part.tile < 2) {
        fail(text, fmt::format("the tile of '{}' has 2 elements or more", words[i]));
      }
    }
    fusion.parts.push_back(std::move(part));
  }
  return fusion;
}

/// `layout a order 1,0 split 0 by 32 pad 4`, in this order, each part at most once.
LayoutPlan parse_layout(std::string_view text, const std::vector<std::string>& words) {
  LayoutPlan plan;
  std::size_t next = 2;
  const auto is_next = [&](const char* word, std::size_t numbers) {
    return next + numbers < words.size() && words[next] == word;
  };
  if (words.size() < 3) {
    fail(text, "'layout' takes an array and its layout, 'layout a order 1,0 pad 4'");
  }
  plan.array = words[1];
  if (is_next("order", 1)) {
    std::istringstream axes(words[next + 1]);
    for (std::string axis; std::getline(axes, axis, ',');) {
      plan.order.push_back(static_cast<std::size_t>(parse_number(text, axis)));
    }
    next += 2;
  }
  if (is_next("split", 3) && words[next + 2] == "by") {
    plan.cut_axis = static_cast<std::size_t>(parse_number(text, words[next + 1]));
    plan.piece = parse_number(text, words[next + 3]);
    if (plan.piece == 0) {
      fail(text, "pieces of an axis have elements");
    }
    next += 4;
  }
  if (is_next("pad", 1)) {
    plan.padding = parse_number(text, words[next + 1]);
    next += 2;
  }
  if (next != words.size()) {
    fail(text, fmt::format("did not expect '{}' after 'layout {}'", words[next], plan.array));
  }
  return plan;
}

/// `keep x`, `keep x vec 4`, `keep x shared`, each with `over j,l`
KeepPlan parse_keep(std::string_view text, std::vector<std::string> words) {
  KeepPlan plan;
  if (words.size() > 3 && words[words.size() - 2] == "over") {
    plan.over = parse_names(text, words.back());
    words.resize(words.size() - 2);
  }
  if (words.size() == 3 && words[2] == "shared") {
    plan.in_shared_memory = true;
  } else if (words.size() == 4 && words[2] == "vec") {
    plan.vector_width = parse_number(text, words[3]);
  } else if (words.size() != 2) {
    fail(text, "'keep' takes an array, 'shared' or 'vec 4', and loops along the row, 'over j,l'");
  }
  plan.array = words[1];
  return plan;
}

/// `buffer b`, `buffer b pad 1`
BufferPlan parse_buffer(std::string_view text, const std::vector<std::string>& words) {
  if (words.size() == 2) {
    return {words[1]};
  }
  if (words.size() == 4 && words[2] == "pad") {
    return {words[1], parse_number(text, words[3])};
  }
  fail(text, "'buffer' takes an array that is written, and 'pad 1'");
}

/// `private c block`, `private c block copies 32`
PrivatePlan parse_private(std::string_view text, const std::vector<std::string>& words) {
  const bool has_copies = words.size() == 5 && words[3] == "copies";
  if ((words.size() != 3 && !has_copies) || words[2] != "block") {
    fail(text,
         "'private' takes an array, 'block', and the number of copies of a block: "
         "'private c block copies 32'");
  }
  return {words[1], has_copies ? parse_number(text, words[4]) : 1};
}

/// `march i*64`
/// `march i*64`, `march i*64 unr*3`
MarchPlan parse_march(std::string_view text, const std::vector<std::string>& words) {
  const std::size_t star =
      words.size() == 2 || words.size() == 3 ? words[1].find('*') : std::string::npos;
  if (star == 0 || star == std::string::npos) {
    fail(text, "'march' takes a loop and its iterations, 'march i*64'");
  }
  const std::int64_t length = parse_number(text, std::string_view(words[1]).substr(star + 1));
  if (length == 0) {
    fail(text, "a march has iterations");
  }
  constexpr std::string_view unrolled = "unr*";
  if (words.size() == 3 && !words[2].starts_with(unrolled)) {
    fail(text, fmt::format("did not expect '{}' after 'march {}'", words[2], words[1]));
  }
  return {words[1].substr(0, star), length,
          words.size() == 3 ? parse_number(text, std::string_view(words[2]).substr(unrolled.size()))
                            : 0};
}

/// `queue u 3`, `queue u 4 shared`, `queue u 3 along i`
QueuePlan parse_queue(std::string_view text, const std::vector<std::string>& words) {
  if (words.size() < 3) {
    fail(text, "'queue' takes an array and its places, 'queue u 3'");
  }
  QueuePlan plan{words[1], parse_number(text, words[2])};
  std::size_t next = 3;
  if (next < words.size() && words[next] == "shared") {
    plan.in_shared_memory = true;
    ++next;
  }
  if (next + 1 < words.size() && words[next] == "along") {
    plan.along = words[next + 1];
    next += 2;
  }
  if (next != words.size()) {
    fail(text, fmt::format("did not expect '{}' after 'queue {}'", words[next], plan.array));
  }
  return plan;
}

/// `launch before i`
std::string parse_launch(std::string_view text, const std::vector<std::string>& words) {
  if (words.size() != 3 || words[1] != "before") {
    fail(text, "'launch before' takes the iname of the statements that come next");
  }
  return words[2];
}

/// `place t global`, `place f shared`
void parse_place(std::string_view text, const std::vector<std::string>& words, Slicing& slicing) {
  if (words.size() == 3 && words[2] == "global") {
    slicing.global_values.push_back(words[1]);
  } else if (words.size() == 3 && words[2] == "shared") {
    slicing.shared_values.push_back(words[1]);
  } else {
    fail(text,
         "'place' takes a temporary and 'global', or a rule or an array and 'shared': 'place mean "
         "global'");
  }
}

/// `order k_0,i_0, i_1`
std::vector<std::string> parse_order(std::string_view text, const std::vector<std::string>& words) {
  std::string all;
  for (std::size_t i = 1; i < words.size(); ++i) {
    all += words[i];
  }
  return parse_names(text, all);
}

/// `i: g.0 l.0*64`, or `j,k: for l.0*256` for several.
std::vector<InameSlicing> parse_inames(std::string_view text,
                                       const std::vector<std::string>& words) {
  InameSlicing cut;
  if (words.front().size() < 2 || words.front().back() != ':' || words.size() < 2) {
    fail(text, fmt::format("expected 'iname: axis ...', found '{}'", words.front()));
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t star = words[i].find('*');
    SlicingFactor factor;
    factor.axis = parse_iname_tag(words[i].substr(0, star));
    if (star != std::string::npos) {
      factor.length = parse_number(text, std::string_view(words[i]).substr(star + 1));
    }
    if ((i == 1) != (factor.length == 0)) {
      fail(text, fmt::format("the first loop of '{}' takes the rest, all others have a length",
                             words.front()));
    }
    cut.factors.push_back(factor);
  }
  std::vector<InameSlicing> result;
  for (std::string& iname : parse_names(text, words.front().substr(0, words.front().size() - 1))) {
    result.push_back({std::move(iname), cut.factors});
  }
  return result;
}

/// What a part of a slicing is about: `stages`, `fetch a`, `march i`; the inames of `i,j: ...`.
std::vector<std::string> subjects_of(std::string_view text, const std::vector<std::string>& words) {
  const std::string& first = words.front();
  if (first.size() > 1 && first.back() == ':') {
    return parse_names(text, first.substr(0, first.size() - 1));
  }
  const bool is_single =
      first == "stages" || first == "swizzle" || first == "walk" || first == "order";
  if (words.size() == 1 || is_single) {
    return {first};
  }
  if (words.size() > 2 && (first == "launch" || words[2] == "at")) {  // `fetch u at i`
    const std::size_t count = std::min<std::size_t>(words.size(), first == "launch" ? 3 : 4);
    return {fmt::format(
        "{}", fmt::join(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count), " "))};
  }
  if (first == "keep" && words.size() > 3 && words[words.size() - 2] == "over") {
    return {fmt::format("keep {} over {}", words[1], words.back())};
  }
  const bool is_shared_queue = first == "queue" && words.size() > 3 && words[3] == "shared";
  return {first + " " + words[1].substr(0, words[1].find('*')) +
          (is_shared_queue ? " shared" : "")};  // a thread has a queue of its own
}

}  // namespace

std::string to_string(const StorePlan& plan) {
  return fmt::format("{} {}[{}]", plan.in_loops ? "once" : "store", plan.array,
                     fmt::join(plan.inames, ","));
}

std::string to_string(const InameFusion& fusion) {
  std::string text = fmt::format("fuse {} =", fusion.name);
  for (const FusedIname& part : fusion.parts) {
    text += " " + part.iname;
    text += part.tile == 1 ? "" : fmt::format("*{}", part.tile);
  }
  return text;
}

std::string name_of(const FetchPlan& plan) {
  return plan.group == 0 ? plan.array : fmt::format("{}#{}", plan.array, plan.group);
}

std::string to_string(const QueuePlan& plan) {
  return fmt::format("queue {} {}{}{}", plan.array, plan.length,
                     plan.in_shared_memory ? " shared" : "",
                     plan.along.empty() ? "" : " along " + plan.along);
}

std::string to_string(const LayoutPlan& plan) {
  std::string text = "layout " + plan.array;
  text += plan.order.empty() ? "" : fmt::format(" order {}", fmt::join(plan.order, ","));
  text += plan.piece == 0 ? "" : fmt::format(" split {} by {}", plan.cut_axis, plan.piece);
  text += plan.padding == 0 ? "" : fmt::format(" pad {}", plan.padding);
  return text;
}

std::string to_string(const Slicing& slicing) {
  std::string text = slicing.is_apart ? "apart" : "";
  for (const std::string& each : slicing.inlines) {
    text += (text.empty() ? "inline " : "; inline ") + each;
  }
  for (const std::vector<std::string>& each : slicing.together) {
    text += fmt::format("{}together {}", text.empty() ? "" : "; ", fmt::join(each, ","));
  }
  for (const PhasePlan& each : slicing.phases) {
    text += fmt::format("{}phases {}*{}", text.empty() ? "" : "; ", each.iname, each.count);
  }
  for (const StorePlan& each : slicing.stores) {
    text += (text.empty() ? "" : "; ") + to_string(each);
  }
  for (const InameFusion& each : slicing.fusions) {
    text += (text.empty() ? "" : "; ") + to_string(each);
  }
  for (const InameSlicing& each : slicing.inames) {
    text += (text.empty() ? "" : "; ") + each.iname + ":";
    for (const SlicingFactor& factor : each.factors) {
      text += " " + to_string(factor.axis);
      if (factor.length != 0) {
        text += fmt::format("*{}", factor.length);
      }
    }
  }
  for (const MarchPlan& march : slicing.marches) {
    text += fmt::format("{}march {}*{}", text.empty() ? "" : "; ", march.iname, march.length);
    text += march.unrolled > 0 ? fmt::format(" unr*{}", march.unrolled) : "";
  }
  for (const QueuePlan& queue : slicing.queues) {
    text += (text.empty() ? "" : "; ") + to_string(queue);
  }
  for (const FetchPlan& fetch : slicing.fetches) {
    text += (text.empty() ? "" : "; ") + ("fetch " + name_of(fetch));
    text += fetch.at.empty() ? "" : " at " + fetch.at;
    text += fetch.is_transposed ? " transposed" : "";
    text += fetch.in_registers ? " registers" : "";
    text += fetch.padding != 0 ? fmt::format(" pad {}", fetch.padding) : "";
    text += fetch.is_swizzled ? " xor" : "";
    text += fetch.vector_width != 0 ? fmt::format(" vec {}", fetch.vector_width) : "";
    text += fetch.stages != 0 ? fmt::format(" stages {}", fetch.stages) : "";
    text += fetch.swept.empty() ? "" : fmt::format(" over {}", fmt::join(fetch.swept, ","));
  }
  for (const KeepPlan& keep : slicing.keeps) {
    text += (text.empty() ? "keep " : "; keep ") + keep.array;
    text += keep.in_shared_memory ? " shared" : "";
    text += keep.vector_width != 0 ? fmt::format(" vec {}", keep.vector_width) : "";
    text += keep.over.empty() ? "" : fmt::format(" over {}", fmt::join(keep.over, ","));
  }
  for (const BufferPlan& each : slicing.buffers) {
    text += (text.empty() ? "buffer " : "; buffer ") + each.array;
    text += each.padding != 0 ? fmt::format(" pad {}", each.padding) : "";
  }
  for (const PrivatePlan& each : slicing.privates) {
    text += (text.empty() ? "private " : "; private ") + each.array + " block";
    text += each.copies != 1 ? fmt::format(" copies {}", each.copies) : "";
  }
  if (slicing.stages != 1) {
    text += fmt::format("; stages {}", slicing.stages);
  }
  if (slicing.swizzle_rows != 0) {
    text += fmt::format("; swizzle {}", slicing.swizzle_rows);
  }
  if (slicing.walking_blocks != 0) {
    text += fmt::format("; walk {}", slicing.walking_blocks);
  }
  for (const std::string& each : slicing.atomic_reductions) {
    text += "; atomic " + each;
  }
  for (const std::string& each : slicing.last_block_reductions) {
    text += "; last " + each;
  }
  for (const std::string& each : slicing.look_back) {
    text += "; look_back " + each;
  }
  for (const std::string& each : slicing.exchanges) {
    text += "; exchange " + each;
  }
  for (const std::string& each : slicing.launches) {
    text += (text.empty() ? "launch before " : "; launch before ") + each;
  }
  for (const std::string& each : slicing.global_values) {
    text += fmt::format("{}place {} global", text.empty() ? "" : "; ", each);
  }
  for (const std::string& each : slicing.shared_values) {
    text += fmt::format("{}place {} shared", text.empty() ? "" : "; ", each);
  }
  for (const std::vector<std::string>& each : slicing.online) {
    text += fmt::format("{}online {}", text.empty() ? "" : "; ", fmt::join(each, ","));
  }
  for (const LayoutPlan& plan : slicing.layouts) {
    text += (text.empty() ? "" : "; ") + to_string(plan);
  }
  if (!slicing.loop_order.empty()) {
    text += fmt::format("{}order {}", text.empty() ? "" : "; ", fmt::join(slicing.loop_order, ","));
  }
  return text;
}

Slicing parse_slicing(std::string_view text) {
  Slicing slicing;
  std::set<std::string> subjects;
  std::istringstream stream{std::string(text)};
  for (std::string part; std::getline(stream, part, ';');) {
    const std::vector<std::string> words = words_of(part);
    if (words.empty()) {
      continue;
    }
    for (const std::string& subject : subjects_of(text, words)) {
      if (!subjects.insert(subject).second) {
        fail(text, fmt::format("'{}' is there twice", subject));
      }
    }
    if (words.front() == "apart" && words.size() == 1) {
      slicing.is_apart = true;
    } else if (words.front() == "store" || words.front() == "once") {
      slicing.stores.push_back(parse_store(text, words));
    } else if (words.front() == "inline" && words.size() == 2) {
      slicing.inlines.push_back(words[1]);
    } else if (words.front() == "together" && words.size() == 2) {
      slicing.together.push_back(parse_names(text, words[1]));
    } else if (words.front() == "phases") {
      slicing.phases.push_back(parse_phases(text, words));
    } else if (words.front() == "fuse") {
      slicing.fusions.push_back(parse_fusion(text, words));
    } else if (words.front() == "fetch") {
      slicing.fetches.push_back(parse_fetch(text, words));
    } else if (words.front() == "march") {
      slicing.marches.push_back(parse_march(text, words));
    } else if (words.front() == "queue") {
      slicing.queues.push_back(parse_queue(text, words));
    } else if (words.front() == "keep") {
      slicing.keeps.push_back(parse_keep(text, words));
    } else if (words.front() == "buffer") {
      slicing.buffers.push_back(parse_buffer(text, words));
    } else if (words.front() == "private") {
      slicing.privates.push_back(parse_private(text, words));
    } else if (words.front() == "place") {
      parse_place(text, words, slicing);
    } else if (words.front() == "launch") {
      slicing.launches.push_back(parse_launch(text, words));
    } else if (words.front() == "online" && words.size() == 2) {
      slicing.online.push_back(parse_names(text, words[1]));
    } else if (words.front() == "layout") {
      slicing.layouts.push_back(parse_layout(text, words));
    } else if (words.front() == "stages" && words.size() == 2) {
      slicing.stages = parse_number(text, words[1]);
    } else if (words.front() == "swizzle" && words.size() == 2) {
      slicing.swizzle_rows = parse_number(text, words[1]);
    } else if (words.front() == "walk" && words.size() == 2) {
      slicing.walking_blocks = parse_number(text, words[1]);
    } else if (words.front() == "order" && slicing.loop_order.empty()) {
      slicing.loop_order = parse_order(text, words);
    } else if (words.front() == "atomic" && words.size() == 2) {
      slicing.atomic_reductions.push_back(words[1]);
    } else if (words.front() == "last" && words.size() == 2) {
      slicing.last_block_reductions.push_back(words[1]);
    } else if (words.front() == "look_back" && words.size() == 2) {
      slicing.look_back.push_back(words[1]);
    } else if (words.front() == "exchange" && words.size() == 2) {
      slicing.exchanges.push_back(words[1]);
    } else {
      for (InameSlicing& each : parse_inames(text, words)) {
        slicing.inames.push_back(std::move(each));
      }
    }
  }
  return slicing;
}

}  // namespace rtcg::loopy
