#include "tools/tune_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "tools/command.h"

namespace rtcg::tools {
namespace {

// FLOP/s, bytes/s and the share of the device's roofline of a candidate.
struct Rates {
  double gflops = 0;
  double gbytes = 0;
  double roofline_percent = 0;  ///< 0: the device's figures are not known
};

bool has_roofline(const TuneReport& report) {
  return report.device.info().id.kind == runtime::BackendKind::cuda;
}

// The least time that arithmetic and memory allow.
double roofline_us(const TuneReport& report) {
  const loopy::MachineModel machine = loopy::machine_model(report.device);
  const double peak = machine.multiprocessors * machine.clock_hz * machine.flops_per_clock;
  return 1e6 * std::max(report.result.flops / peak,
                        report.result.memory_bytes / machine.memory_bytes_per_second);
}

Rates rates_of(const TuneReport& report, double microseconds) {
  const double seconds = microseconds * 1e-6;
  return {report.result.flops / seconds * 1e-9, report.result.memory_bytes / seconds * 1e-9,
          has_roofline(report) ? 100 * roofline_us(report) / microseconds : 0};
}

std::string percent(double value) {
  return value > 0 ? fmt::format("{:.0f} %", value) : "?";
}

const std::vector<std::string>& column_names() {
  static const std::vector<std::string> names = {"time",      "GFLOP/s", "GB/s",      "roofline",
                                                 "registers", "shared",  "occupancy", "threads",
                                                 "blocks",    "slicing"};
  return names;
}

/// A candidate that ran. Times from before the final round are marked: the machine may have been
/// slower or faster then.
std::vector<std::string> columns_of(const TuneReport& report, std::size_t place) {
  const loopy::TunedSlicing& each = report.result.tried[place];
  const char* mark = place < report.result.finalists ? "" : "~";
  const Rates rates = rates_of(report, each.microseconds);
  const loopy::MachineModel machine = loopy::machine_model(report.device);
  return {mark + time_text(each.microseconds),
          report.result.flops > 0 ? fmt::format("{:.1f}", rates.gflops) : "?",
          fmt::format("{:.1f}", rates.gbytes),
          percent(rates.roofline_percent),
          each.resources.registers ? std::to_string(*each.resources.registers) : "?",
          each.resources.shared_bytes
              ? human_bytes(static_cast<double>(*each.resources.shared_bytes))
              : "?",
          percent(100 * loopy::occupancy(each, machine)),
          std::to_string(each.threads),
          std::to_string(each.blocks),
          to_string(each.slicing)};
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  return result;
}

// Measured over predicted time of every candidate, both axes logarithmic; a line at the roofline.
std::string scatter(const TuneReport& report) {
  const double least = has_roofline(report) ? roofline_us(report) : 0;
  double low = least > 0 ? least : 1e300;
  double high = least;
  const auto& tried = report.result.tried;
  const std::size_t fine = count_fine(report.result);
  for (std::size_t i = 0; i < fine; ++i) {
    low = std::min({low, tried[i].microseconds, tried[i].predicted_us});
    high = std::max({high, tried[i].microseconds, tried[i].predicted_us});
  }
  const auto place = [&](double value) {
    return 40 + 440 * std::log(value / low) / std::max(1e-9, std::log(high / low));
  };
  std::string text =
      "<svg viewBox='0 0 520 520' width='520'><rect x='40' y='40' width='440' height='440' "
      "fill='none' stroke='#888'/><line x1='40' y1='480' x2='480' y2='40' stroke='#ccc'/>";
  if (least > 0) {
    text += fmt::format(
        "<line x1='40' x2='480' y1='{0:.1f}' y2='{0:.1f}' stroke='#d80'/><text x='300' "
        "y='{1:.1f}' fill='#d80'>roofline: {2}</text>",
        520 - place(least), 515 - place(least), time_text(least));
  }
  for (std::size_t i = fine; i-- > 0;) {
    text += fmt::format(
        "<circle cx='{:.1f}' cy='{:.1f}' r='3' fill='{}'><title>{}: {}</title></circle>",
        place(tried[i].predicted_us), 520 - place(tried[i].microseconds), i == 0 ? "#d22" : "#27a",
        time_text(tried[i].microseconds), escaped(to_string(tried[i].slicing)));
  }
  return text + fmt::format(
                    "<text x='40' y='510'>predicted, {} to {}</text><text x='40' y='30'>"
                    "measured, the same scale</text></svg>",
                    time_text(low), time_text(high));
}

// How the best time fell while candidates were tried.
std::string trace(const std::vector<double>& best_us) {
  if (best_us.empty()) {
    return "<p>no candidate ran</p>";
  }
  std::string points;
  const double worst = best_us.front();
  const double best = best_us.back();
  for (std::size_t i = 0; i < best_us.size(); ++i) {
    points += fmt::format(
        "{:.1f},{:.1f} ", 40 + 440.0 * static_cast<double>(i) / static_cast<double>(best_us.size()),
        240 - 200 * std::log(best_us[i] / best) / std::max(1e-9, std::log(worst / best)));
  }
  return fmt::format(
      "<svg viewBox='0 0 520 270' width='520'><polyline fill='none' stroke='#27a' "
      "points='{}'/><text x='40' y='262'>candidate 1 to {}</text><text x='40' "
      "y='24'>best so far: {} to {}</text></svg>",
      points, best_us.size(), time_text(worst), time_text(best));
}

std::string html_row(const std::vector<std::string>& cells, const char* tag) {
  std::string row = "<tr>";
  for (const std::string& cell : cells) {
    row += fmt::format("<{0}>{1}</{0}>", tag, escaped(cell));
  }
  return row + "</tr>\n";
}

// Reasons of refusals and their numbers, without the details that differ.
std::string refusals(const loopy::TuneResult& result) {
  std::map<std::string, int> counts;
  for (std::size_t i = count_fine(result); i < result.tried.size(); ++i) {
    const std::string& text = result.tried[i].refusal;
    const std::size_t code = text.rfind('[');
    ++counts[code == std::string::npos ? text.substr(0, text.find(':')) : text.substr(code)];
  }
  std::string rows;
  for (const auto& [reason, count] : counts) {
    rows += html_row({std::to_string(count), reason}, "td");
  }
  return rows.empty() ? "<p>none</p>" : "<table>" + rows + "</table>";
}

}  // namespace

std::string time_text(double microseconds) {
  return microseconds < 1e4 ? fmt::format("{:.2f} us", microseconds)
                            : fmt::format("{:.3f} ms", microseconds * 1e-3);
}

std::size_t count_fine(const loopy::TuneResult& result) {
  return static_cast<std::size_t>(
      std::count_if(result.tried.begin(), result.tried.end(),
                    [](const loopy::TunedSlicing& each) { return each.refusal.empty(); }));
}

std::string ties_text(const loopy::TuneResult& result) {
  if (result.finalists == 0) {
    return result.ties > 1
               ? fmt::format("there was no time to compare the first {}, which are within 20 %",
                             result.ties)
               : "there was no time for a comparison in turns";
  }
  return result.ties > 1 ? fmt::format("the first {} are tied", result.ties)
                         : "the first is the fastest beyond the noise";
}

std::string judge_text(const loopy::TuneResult& result) {
  if (result.timed_share < 1) {
    return fmt::format(
        "a run takes so long that {:.2g} % of the iterations of its outermost loop were timed, and "
        "results were compared for small sizes only",
        100 * result.timed_share);
  }
  if (!result.why_nothing_compared.empty()) {
    return "nothing was checked: " + result.why_nothing_compared;
  }
  if (!result.why_not_interpreted.empty()) {
    return fmt::format(
        "results were compared with those of a reference slicing only, within errors that repeated "
        "runs of it measured: the description was not interpreted: {}",
        result.why_not_interpreted);
  }
  return result.is_sampled ? "results were compared with samples of the interpreter's results, and "
                             "with a reference slicing within the errors of these"
                           : "results were compared with those of the interpreter";
}

std::string beginning_text(const loopy::TuneResult& result) {
  const loopy::TuneBeginning& beginning = result.beginning;
  return fmt::format(
      "{:.2f} s to rank slicings, {:.2f} s for arrays, {:.2f} s to interpret the description, "
      "{:.2f} "
      "s for the reference",
      beginning.ranking_seconds, beginning.arrays_seconds, beginning.interpreting_seconds,
      beginning.reference_seconds);
}

std::string tune_table(const TuneReport& report) {
  std::vector<std::vector<std::string>> rows = {column_names()};
  for (std::size_t i = 0; i < std::min<std::size_t>(10, count_fine(report.result)); ++i) {
    rows.push_back(columns_of(report, i));
  }
  std::string text = table(rows);
  if (report.result.finalists < rows.size() - 1) {
    text += "~: timed during the search only, not in turns with the fastest\n";
  }
  return text;
}

std::string tune_page(const TuneReport& report) {
  const loopy::TuneResult& result = report.result;
  std::string rows = html_row(column_names(), "th");
  for (std::size_t i = 0; i < std::min<std::size_t>(25, count_fine(result)); ++i) {
    rows += html_row(columns_of(report, i), "td");
  }
  return fmt::format(
      "<!doctype html><html lang='en'><meta charset='utf-8'><title>{0}</title>"
      "<style>body{{font-family:sans-serif;max-width:80em;margin:2em auto}}td,th{{"
      "padding-right:1.5em;font-family:monospace;text-align:left}}pre{{background:#f4f4f4;"
      "padding:1em;overflow:auto}}</style><h1>{0}</h1><p>{1} ({2})</p><p>{3} of {4} slicings "
      "tried in {5:.1f} s, {6} of them known from an earlier search; {7} cache; {8}; {17}</p>"
      "<p>clocks before: {9}; after: {10}</p><h2>Search</h2>{11}<h2>Model and measurement</h2>{12}"
      "<h2>The fastest</h2><table>{13}</table><h2>Refused</h2>{14}<h2>Loops of the winner</h2>"
      "<pre>{15}</pre><h2>Source of the winner</h2><pre>{16}</pre></html>\n",
      escaped(report.title), escaped(report.device.info().name), escaped(report.device.identity()),
      result.tried.size(), result.known, result.seconds, result.resumed,
      result.cache == loopy::CacheState::cold ? "cold" : "warm", ties_text(result),
      to_string(result.clocks_before), to_string(result.clocks_after), trace(report.best_us),
      scatter(report), rows, refusals(result), escaped(report.loop_tree), escaped(report.source),
      escaped(judge_text(result)));
}

}  // namespace rtcg::tools
