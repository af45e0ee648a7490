#include "rtcg/dg/operators/halo.h"

#include <limits>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/check/verify_module.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/runtime/device/program.h"

namespace rtcg::dg::detail {
namespace {

using cgen::BlockBuilder;
using cgen::Expr;

constexpr const char* call_name = "exchange of traces";
constexpr int halo_block = 128;
// Small kernels and copies that others wait for go before the large ones.
constexpr int first_priority = std::numeric_limits<int>::min();

cgen::Statement halo_kernel(const KernelShape& shape, const cgen::Type& real, bool is_pack) {
  const auto pointer = [](const cgen::Type& to) { return cgen::restrict_pointer_to(to); };
  const cgen::Type read = cgen::const_(real);
  const std::vector<cgen::Parameter> parameters = {
      {cgen::i64, "count", {}, {}},
      {pointer(cgen::const_(cgen::u32)), "sides", {}, {}},
      {pointer(cgen::const_(cgen::u8)), "face_nodes", {}, {}},
      {pointer(is_pack ? read : real), "state", {}, {}},
      {pointer(is_pack ? real : read), "message", {}, {}}};
  const auto variable = [&](std::size_t i) {
    return cgen::variable(parameters[i].name, parameters[i].type);
  };
  const int of_side = shape.fields * shape.face_nodes;
  BlockBuilder body;
  const Expr number = body.add_constant(
      cgen::i64, "number",
      cgen::cast(cgen::i64, cgen::block_idx_x) * cgen::block_dim_x + cgen::thread_idx_x);
  BlockBuilder work;
  const auto constant = [&](const char* name, const Expr& value) {
    return work.add_constant(cgen::i32, name, cgen::cast(cgen::i32, value));
  };
  const Expr side = work.add_constant(cgen::u32, "side", variable(1)[number / of_side]);
  const Expr rest = constant("rest", number % of_side);
  const Expr faces = cgen::literal(shape.faces, cgen::u32);
  const Expr element = constant("element", side / faces);
  const Expr face = constant("face", side % faces);
  const Expr place = face * shape.face_nodes + rest % shape.face_nodes;
  const Expr at =
      (cgen::cast(cgen::i64, element) * shape.fields + rest / shape.face_nodes) * shape.nodes +
      variable(2)[place];
  const Expr of_state = variable(3)[at];
  const Expr of_message = variable(4)[number];
  work << (is_pack ? cgen::assign(of_message, of_state) : cgen::assign(of_state, of_message));
  body << cgen::if_(number < variable(0), work);
  return cgen::kernel(is_pack ? "pack_traces" : "unpack_traces", parameters, body);
}

std::vector<std::uint8_t> nodes_of_faces(const ReferenceElement& element) {
  std::vector<std::uint8_t> result;
  for (const std::vector<int>& nodes : element.face_nodes) {
    for (const int node : nodes) {
      result.push_back(static_cast<std::uint8_t>(node));
    }
  }
  return result;
}

runtime::EventOptions untimed() {
  return {.with_timing = false};
}

std::size_t bytes_of_real(const cgen::Type& real) {
  return real == cgen::f32 ? 4 : 8;
}

}  // namespace

cgen::Module halo_kernels(const KernelShape& shape, const cgen::Type& real) {
  cgen::Module module{"dg_halo", {}};
  module.items.push_back(halo_kernel(shape, real, true));
  module.items.push_back(halo_kernel(shape, real, false));
  return module;
}

Halo::Halo(const KernelShape& shape, const cgen::Type& real, const Discretization& on,
           runtime::Device device, distributed::Waiting waiting)
    : group_(*on.group),
      stream_(device, {.priority = first_priority}),
      written_(device, untimed()),
      ready_(device, untimed()),
      face_nodes_(device, nodes_of_faces(on.element)),
      sends_(table_of(shape, on, device, true)),
      receives_(table_of(shape, on, device, false)),
      sent_bytes_(sends_.numbers * bytes_of_real(real)) {
  const std::size_t of_side =
      static_cast<std::size_t>(shape.fields * shape.face_nodes) * bytes_of_real(real);
  std::vector<distributed::Partner> partners;
  std::size_t sent = 0;
  std::size_t received = 0;
  for (const PartNeighbour& neighbour : on.part->neighbours) {
    const std::size_t out = neighbour.sent.size() * of_side;
    const std::size_t in = neighbour.received.size() * of_side;
    partners.push_back({neighbour.part, out, in});
    sent_parts_.push_back(
        {sends_.sides.subrange(sent / of_side, neighbour.sent.size()), out / bytes_of_real(real)});
    received_parts_.push_back(
        {receives_.sides.subrange(received / of_side, neighbour.received.size()),
         in / bytes_of_real(real)});
    sent += out;
    received += in;
  }
  if (waiting != distributed::Waiting::hosts) {
    rounds_ = distributed::open_rounds(group_, partners, call_name);
  }
  if (!rounds_) {
    messages_.emplace(Messages{{device, sent}, {device, received}});
    sent = 0;
    received = 0;
    for (const distributed::Partner& each : partners) {
      send_to_.push_back({each.rank, messages_->sent.subrange(sent, each.sent_bytes)});
      receive_from_.push_back(
          {each.rank, messages_->received.subrange(received, each.received_bytes)});
      sent += each.sent_bytes;
      received += each.received_bytes;
    }
  }
  const cgen::Module module = halo_kernels(shape, real);
  const cgen::Dialect dialect = loopy::dialect_of(device);
  const SourceText text = cgen::print_module(module, dialect);
  cgen::verify_module(module, dialect, [&] { return text.text; });
  const runtime::Program program = runtime::Program::compile(device, text, {}, module.name);
  pack_ = program.kernel("pack_traces");
  unpack_ = program.kernel("unpack_traces");
}

Halo::Table Halo::table_of(const KernelShape& shape, const Discretization& on,
                           runtime::Device device, bool is_sent) {
  std::vector<std::uint32_t> sides;
  for (const PartNeighbour& neighbour : on.part->neighbours) {
    const std::vector<std::uint32_t>& more = is_sent ? neighbour.sent : neighbour.received;
    sides.insert(sides.end(), more.begin(), more.end());
  }
  const std::size_t numbers =
      sides.size() * static_cast<std::size_t>(shape.fields * shape.face_nodes);
  return {runtime::Buffer<std::uint32_t>(device, sides), numbers};
}

template <class Message>
void Halo::launch(runtime::StreamRef on, const runtime::Kernel& kernel, const Part& part,
                  const Message& message) const {
  runtime::ArgumentPack pack;
  pack.add(static_cast<std::int64_t>(part.numbers))
      .add(part.sides)
      .add(face_nodes_)
      .add(*state_)
      .add(message);
  kernel.launch(on, {(part.numbers + halo_block - 1) / halo_block, halo_block, 0}, pack);
}

runtime::StreamRef Halo::own(runtime::StreamRef stream) const {
  return is_in_line_ ? stream : runtime::StreamRef(stream_);
}

void Halo::follow(runtime::StreamRef stream) {
  if (!is_in_line_) {
    stream.record(written_);
    stream_.wait(written_);
    is_behind_ = false;
  }
}

void Halo::lead(runtime::StreamRef stream) {
  if (!is_in_line_) {
    stream_.record(ready_);
    stream.wait(ready_);
  }
}

void Halo::start(runtime::StreamRef stream, runtime::BufferRef<std::byte> state) {
  follow(stream);
  send(stream, state);
}

void Halo::send(runtime::StreamRef stream, runtime::BufferRef<std::byte> state) {
  state_ = state;
  const runtime::StreamRef on = own(stream);
  if (!rounds_) {
    launch(on, *pack_, {sends_.sides.ref(), sends_.numbers}, messages_->sent.ref());
    return;
  }
  if (is_sent_) {
    rounds_->receive(on);  // an earlier message that was not used
  }
  for (std::size_t i = 0; i < sent_parts_.size(); ++i) {
    launch(on, *pack_, sent_parts_[i], rounds_->outgoing(i));
  }
  rounds_->send(on);
  is_sent_ = true;
}

void Halo::receive(runtime::StreamRef stream) {
  if (!state_) {
    return;
  }
  if (is_behind_) {
    follow(stream);
  }
  const runtime::StreamRef on = own(stream);
  if (rounds_) {
    rounds_->tell(stream);
    rounds_->receive(on);
    is_sent_ = false;
    for (std::size_t i = 0; i < received_parts_.size(); ++i) {
      launch(on, *unpack_, received_parts_[i], rounds_->incoming(i));
    }
  } else {
    // the messages of GPUs that this one reaches are read where they are
    group_.exchange_and_use(
        stream_, send_to_, receive_from_,
        [this](std::span<const runtime::BufferRef<const std::byte>> messages) {
          for (std::size_t i = 0; i < messages.size(); ++i) {
            launch(stream_, *unpack_, received_parts_[i], messages[i]);
          }
        },
        call_name);
  }
  state_.reset();
}

void Halo::prepare_launch(runtime::StreamRef stream) {
  if (!is_behind_) {
    lead(stream);
  }
  is_behind_ = true;
}

void Halo::begin_capture(runtime::StreamRef stream) {
  // graphs of the host have the work of one stream
  is_in_line_ = stream_.device().info().id.kind == runtime::BackendKind::host;
  rounds_->begin_capture();
  follow(stream);
}

void Halo::end_capture(runtime::StreamRef stream) {
  lead(stream);
  rounds_->end_capture();
  is_in_line_ = false;
  is_behind_ = true;
}

void Halo::replay(int starts, runtime::BufferRef<std::byte> state,
                  const std::function<void()>& launch) {
  rounds_->replay(starts, launch);
  state_ = state;
}

}  // namespace rtcg::dg::detail
