#include "rtcg/runtime/compile/compile_message.h"

#include <mutex>
#include <set>

#include "rtcg/runtime/compile/byte_buffer.h"
#include "rtcg/runtime/compile/cache_entry.h"
#include "rtcg/runtime/compile/nvrtc_library.h"

namespace rtcg::runtime {
namespace {

// The last digit is the version of the messages.
constexpr std::string_view message_magic = "rtcgwrk1";

enum class Answer : std::uint64_t {
  program,
  invalid_input,
  unsupported,
  compile_failure,
  device_error,
  internal_error,
};

[[noreturn]] void fail() {
  throw InvalidInput("runtime.compile_message.damaged",
                     "a compile worker and the program that started it do not understand each "
                     "other: use those of one build");
}

/// The file names of origins are of static storage duration.
const char* kept(std::string_view text) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> names;
  if (text.empty()) {
    return nullptr;
  }
  const std::lock_guard lock(mutex);
  return names.emplace(text).first->c_str();
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

void write_texts(ByteWriter& writer, const std::vector<std::string>& texts) {
  writer.number(texts.size());
  for (const std::string& each : texts) {
    writer.text(each);
  }
}
std::vector<std::string> read_texts(ByteReader& reader) {
  std::vector<std::string> texts;
  for (std::uint64_t left = reader.number(); left > 0 && reader.is_good(); --left) {
    texts.emplace_back(reader.text());
  }
  return texts;
}

void write_pairs(ByteWriter& writer, const Pairs& pairs) {
  writer.number(pairs.size());
  for (const auto& [first, second] : pairs) {
    writer.text(first);
    writer.text(second);
  }
}
Pairs read_pairs(ByteReader& reader) {
  Pairs pairs;
  for (std::uint64_t left = reader.number(); left > 0 && reader.is_good(); --left) {
    std::string first(reader.text());
    pairs.emplace_back(std::move(first), reader.text());
  }
  return pairs;
}

void write_source(ByteWriter& writer, const SourceText& source) {
  writer.text(source.text);
  writer.number(source.origins.size());
  for (const SourceOrigin& each : source.origins) {
    writer.text(each.file == nullptr ? "" : each.file);
    writer.number(each.line);
  }
}
SourceText read_source(ByteReader& reader) {
  SourceText source;
  source.text = reader.text();
  for (std::uint64_t left = reader.number(); left > 0 && reader.is_good(); --left) {
    SourceOrigin origin;
    origin.file = kept(reader.text());
    origin.line = static_cast<std::uint32_t>(reader.number());
    source.origins.push_back(origin);
  }
  return source;
}

Answer kind_of(const Error& error) {
  if (dynamic_cast<const CompileFailure*>(&error) != nullptr) {
    return Answer::compile_failure;
  }
  if (dynamic_cast<const DeviceError*>(&error) != nullptr) {
    return Answer::device_error;
  }
  if (dynamic_cast<const Unsupported*>(&error) != nullptr) {
    return Answer::unsupported;
  }
  return dynamic_cast<const InvalidInput*>(&error) != nullptr ? Answer::invalid_input
                                                              : Answer::internal_error;
}

/// The members of error classes besides code and message.
std::vector<std::string> details_of(const Error& error) {
  if (const auto* failure = dynamic_cast<const CompileFailure*>(&error)) {
    return {failure->source(), failure->options(), failure->log()};
  }
  if (const auto* refused = dynamic_cast<const DeviceError*>(&error)) {
    return {refused->api(), refused->status(), ""};
  }
  return {"", "", ""};
}

[[noreturn]] void rethrow(Answer answer, std::string code, std::string message,
                          std::vector<std::string> details) {
  switch (answer) {
    case Answer::invalid_input:
      throw InvalidInput(std::move(code), std::move(message));
    case Answer::unsupported:
      throw Unsupported(std::move(code), std::move(message));
    case Answer::compile_failure:
      throw CompileFailure(std::move(code), std::move(message),
                           {std::move(details[0]), std::move(details[1]), std::move(details[2])});
    case Answer::device_error:
      throw DeviceError(std::move(code), std::move(message), std::move(details[0]),
                        std::move(details[1]));
    case Answer::internal_error:
      throw InternalError(message, SourceOrigin::current());
    case Answer::program:
      break;
  }
  fail();
}

}  // namespace

std::string worker_greeting() {
  ByteWriter writer;
  writer.text(message_magic);
  writer.text(nvrtc_place().build);
  return writer.bytes();
}

std::string write_request(const CompileRequest& request) {
  const CompileOptions& options = request.options;
  ByteWriter writer;
  writer.number(static_cast<std::uint64_t>(request.kind));
  write_source(writer, request.source);
  write_texts(writer, {request.target, request.program_name, request.source_path});
  write_texts(writer, options.flags);
  write_pairs(writer, options.defines);
  write_texts(writer, options.include_dirs);
  write_pairs(writer, options.headers);
  write_texts(writer, options.name_expressions);
  writer.number(static_cast<std::uint64_t>(options.language));
  writer.number((options.fast_math ? 1U : 0U) + (options.debug ? 2U : 0U) +
                (options.use_cache ? 4U : 0U));
  return writer.bytes();
}

CompileRequest read_request(std::string_view message) {
  ByteReader reader(message);
  CompileRequest request;
  request.kind = static_cast<OutputKind>(reader.number());
  request.source = read_source(reader);
  std::vector<std::string> names = read_texts(reader);
  request.options.flags = read_texts(reader);
  request.options.defines = read_pairs(reader);
  request.options.include_dirs = read_texts(reader);
  request.options.headers = read_pairs(reader);
  request.options.name_expressions = read_texts(reader);
  request.options.language = static_cast<HostLanguage>(reader.number());
  const std::uint64_t switches = reader.number();
  if (!reader.is_good() || !reader.is_at_end() || names.size() != 3) {
    fail();
  }
  request.target = std::move(names[0]);
  request.program_name = std::move(names[1]);
  request.source_path = std::move(names[2]);
  request.options.fast_math = (switches & 1) != 0;
  request.options.debug = (switches & 2) != 0;
  request.options.use_cache = (switches & 4) != 0;
  return request;
}

std::string write_answer(const CompiledProgram& program) {
  ByteWriter writer;
  writer.number(static_cast<std::uint64_t>(Answer::program));
  write_program(writer, program);
  writer.text(program.source_path);
  return writer.bytes();
}

std::string write_answer(const Error& error) {
  ByteWriter writer;
  writer.number(static_cast<std::uint64_t>(kind_of(error)));
  writer.text(error.code());
  writer.text(error.message());
  write_texts(writer, details_of(error));
  return writer.bytes();
}

CompiledProgram read_answer(std::string_view message) {
  ByteReader reader(message);
  const auto answer = static_cast<Answer>(reader.number());
  if (!reader.is_good()) {
    fail();
  }
  if (answer == Answer::program) {
    CompiledProgram program = read_program(reader);
    program.source_path = reader.text();
    program.from_cache = false;
    if (!reader.is_good() || !reader.is_at_end()) {
      fail();
    }
    return program;
  }
  std::string code(reader.text());
  std::string text(reader.text());
  std::vector<std::string> details = read_texts(reader);
  if (!reader.is_good() || details.size() != 3) {
    fail();
  }
  rethrow(answer, std::move(code), std::move(text), std::move(details));
}

}  // namespace rtcg::runtime
