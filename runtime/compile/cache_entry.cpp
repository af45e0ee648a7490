#include "rtcg/runtime/compile/cache_entry.h"

#include "rtcg/runtime/compile/byte_buffer.h"

namespace rtcg::runtime {
namespace {

// The last digit is the version of this format.
constexpr std::string_view entry_magic = "rtcgent1";
constexpr std::uint64_t absent = ~std::uint64_t{0};

std::string_view view(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

Digest read_digest(ByteReader& reader) {
  Digest digest = {};
  const std::string_view bytes = reader.text();
  if (bytes.size() == digest.size()) {
    std::memcpy(digest.data(), bytes.data(), digest.size());
  }
  return digest;
}

template <class Number>
void write_optional(ByteWriter& writer, const std::optional<Number>& value) {
  writer.number(value ? static_cast<std::uint64_t>(*value) : absent);
}

template <class Number>
void read_optional(ByteReader& reader, std::optional<Number>& value) {
  const std::uint64_t number = reader.number();
  if (number != absent) {
    value = static_cast<Number>(number);
  }
}

}  // namespace

void write_program(ByteWriter& writer, const CompiledProgram& program) {
  writer.number(static_cast<std::uint64_t>(program.kind));
  writer.text(program.target);
  writer.text({reinterpret_cast<const char*>(program.binary.data()), program.binary.size()});
  writer.text(program.log);
  writer.number(program.lowered_names.size());
  for (const auto& [expression, lowered] : program.lowered_names) {
    writer.text(expression);
    writer.text(lowered);
  }
  writer.number(program.resources.size());
  for (const KernelResources& kernel : program.resources) {
    writer.text(kernel.name);
    write_optional(writer, kernel.registers);
    write_optional(writer, kernel.spill_store_bytes);
    write_optional(writer, kernel.spill_load_bytes);
    write_optional(writer, kernel.shared_bytes);
    write_optional(writer, kernel.constant_bytes);
    write_optional(writer, kernel.stack_bytes);
  }
}

CompiledProgram read_program(ByteReader& reader) {
  CompiledProgram program;
  program.kind = static_cast<OutputKind>(reader.number());
  program.target = reader.text();
  const std::string_view binary = reader.text();
  const auto* begin = reinterpret_cast<const std::byte*>(binary.data());
  program.binary.assign(begin, begin + binary.size());
  program.log = reader.text();
  for (std::uint64_t left = reader.number(); left > 0 && reader.is_good(); --left) {
    std::string expression(reader.text());
    program.lowered_names[std::move(expression)] = reader.text();
  }
  for (std::uint64_t left = reader.number(); left > 0 && reader.is_good(); --left) {
    KernelResources kernel;
    kernel.name = reader.text();
    read_optional(reader, kernel.registers);
    read_optional(reader, kernel.spill_store_bytes);
    read_optional(reader, kernel.spill_load_bytes);
    read_optional(reader, kernel.shared_bytes);
    read_optional(reader, kernel.constant_bytes);
    read_optional(reader, kernel.stack_bytes);
    program.resources.push_back(std::move(kernel));
  }
  program.from_cache = true;
  return program;
}

std::string write_entry(const CacheKey& key, const CompiledProgram& program) {
  ByteWriter writer;
  writer.text(view(key.digest));
  writer.number(key.fields.size());
  for (const KeyField& field : key.fields) {
    writer.text(field.name);
    writer.text(view(field.digest));
    writer.text(field.shown);
  }
  write_program(writer, program);
  std::string bytes(entry_magic);
  bytes += view(sha256(writer.bytes()));
  bytes += writer.bytes();
  return bytes;
}

std::optional<CacheEntry> read_entry(std::string_view bytes) {
  constexpr std::size_t head_bytes = entry_magic.size() + sizeof(Digest);
  if (bytes.size() < head_bytes || bytes.substr(0, entry_magic.size()) != entry_magic) {
    return std::nullopt;
  }
  const std::string_view body = bytes.substr(head_bytes);
  if (view(sha256(body)) != bytes.substr(entry_magic.size(), sizeof(Digest))) {
    return std::nullopt;
  }
  ByteReader reader(body);
  CacheEntry entry;
  entry.key.digest = read_digest(reader);
  for (std::uint64_t left = reader.number(); left > 0 && reader.is_good(); --left) {
    KeyField field;
    field.name = reader.text();
    field.digest = read_digest(reader);
    field.shown = reader.text();
    entry.key.fields.push_back(std::move(field));
  }
  entry.program = read_program(reader);
  if (!reader.is_good() || !reader.is_at_end()) {
    return std::nullopt;
  }
  entry.program_name = shown_field(entry.key, "program name");
  return entry;
}

std::string shown_field(const CacheKey& key, std::string_view name) {
  for (const KeyField& field : key.fields) {
    if (field.name == name) {
      return field.shown;
    }
  }
  return {};
}

}  // namespace rtcg::runtime
