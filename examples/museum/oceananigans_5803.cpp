// SPDX-License-Identifier: Apache-2.0
//
// Oceananigans #5803: https://github.com/CliMA/Oceananigans.jl/pull/5803
//
// Wrong: Halos are exchanged over NCCL, on a separate stream, for one field after another. All fields share one
// event: it is recorded after a field's pack on the compute stream, and after its transfer on the communication
// stream. A wait for the event may wait for the pack of one field instead of the transfer of another, whose halo is
// then unpacked before it has arrived.
// Cost: A halo could be read before it was complete; found in a test on 16 GH200, as one of three bugs.
// Here: The pack of v is enqueued while the transfer of u is pending. A copy replaces the data that neighbours send.
// Race: Stream::copy writes, then Stream::copy reads
// Shake: 8 of 20 seeds, pct 12; without it 20 of 20 runs
#include "museum.hpp"

namespace {

constexpr unsigned n = 4096;

struct Field {
  explicit Field(weir::Device& device)
      : edge(device.allocate<float>(n)),
        sent(device.allocate<float>(n)),
        received(device.allocate<float>(n)),
        halo(device.allocate<float>(n)) {}
  weir::Buffer<float> edge, sent, received, halo;
};

void run(weir::Device& device, bool fixed) {
  const weir::StreamPtr compute = device.create_stream(), communication = device.create_stream();
  const weir::EventPtr shared = device.create_event(), u_came = fixed ? device.create_event() : shared;
  Field u(device), v(device);
  for (Field* field : {&u, &v}) {
    compute->fill(field->edge, 1.0F);
    compute->fill(field->received, 0.0F);
  }

  const auto pack = [&](Field& field) {
    compute->copy(field.sent, field.edge);
    compute->record(*shared);
  };
  const auto transfer = [&](Field& field, weir::Event& came) {
    communication->wait(*shared);
    communication->copy(field.received, field.sent);
    communication->record(came);
  };
  const auto unpack = [&](Field& field, weir::Event& came) {
    compute->wait(came);
    compute->copy(field.halo, field.received);
  };
  pack(u);
  transfer(u, *u_came);
  pack(v);
  unpack(u, *u_came);
  transfer(v, *shared);
  unpack(v, *shared);
  museum::expect(compute->read(u.halo), 1.0F, "halo of u");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
