#include "rtcg/distributed/group/named_failure.h"

#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::distributed::detail {

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an exception of a type that rtcg does not know";
  }
}

void rethrow_of_rank(const std::exception_ptr& error, int rank) {
  const auto message = [&](const Error& of) {
    return fmt::format("rank {}: {}", rank, of.message());
  };
  try {
    std::rethrow_exception(error);
  } catch (const InvalidInput& known) {
    throw InvalidInput(known.code(), message(known));
  } catch (const Unsupported& known) {
    throw Unsupported(known.code(), message(known));
  } catch (const CompileFailure& known) {
    throw CompileFailure(known.code(), message(known),
                         {known.source(), known.options(), known.log()});
  } catch (const DeviceError& known) {
    std::string text = message(known);
    const std::string ending = fmt::format(": {} returned {}", known.api(), known.status());
    if (!known.api().empty() && text.ends_with(ending)) {  // the new one has it, too
      text.resize(text.size() - ending.size());
    }
    throw DeviceError(known.code(), text, known.api(), known.status());
  }
  // what is not an error of rtcg leaves as it is
}

void throw_rank_failed(int rank, const std::string& reason) {
  throw DeviceError("distributed.group.rank_failed",
                    fmt::format("rank {} failed: {}", rank, reason), {}, {});
}

void throw_rank_ended(int rank, const std::string& waiting) {
  throw DeviceError("distributed.group.rank_ended",
                    fmt::format("{}, but rank {} has ended", waiting, rank), {}, {});
}

void throw_time_out(double seconds, const std::string& waiting) {
  throw DeviceError("distributed.group.time_out",
                    fmt::format("no message within {:.3g} s: {}", seconds, waiting), {}, {});
}

void throw_size_mismatch(std::string_view call, int from, std::size_t sent, int to,
                         std::size_t expected) {
  throw InvalidInput("distributed.exchange.size_mismatch",
                     fmt::format("{}: rank {} sends {} bytes to rank {}, which expects {}", call,
                                 from, sent, to, expected));
}

void check_timeout(double seconds) {
  if (!(seconds > 0) || !std::isfinite(seconds)) {
    throw InvalidInput(
        "distributed.group.bad_timeout",
        fmt::format("a group with a time-out of {} s: give a number above 0", seconds));
  }
}

}  // namespace rtcg::distributed::detail
