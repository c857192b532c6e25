// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <sstream>
#include <unordered_map>

#include "support.hpp"

/// Identity of streams: handle, equality, order, hash, id, device, context, description.
namespace conformance::identity_cases {

TEST_SUITE_BEGIN("identity");

CASE(OneStream, "S11 handle: stays the same for as long as the stream is open") {
  void* const handle = s->native_handle();
  CHECK_WORKS(*s);
  CHECK(s->native_handle() == handle);
}

CASE(OneStream, "S12 equality: two wrappers of one handle are equal, both ways, with the same hash") {
  const StreamPtr a = device().wrap_stream(s->share_native_handle(), Ownership::borrow);
  const StreamPtr b = device().wrap_stream(s->share_native_handle(), Ownership::borrow);
  CHECK(*s == *s);
  CHECK(*a == *s);
  CHECK(*s == *a);
  CHECK(*a == *b);
  CHECK_FALSE(*a != *b);
  CHECK_FALSE(*a < *b);
  CHECK_FALSE(*b < *a);
  CHECK(a->hash() == s->hash());
  CHECK(StreamRef(a) == StreamRef(s));
  CHECK(StreamRef(a) == StreamRef(b));
  CHECK((StreamRef(a) <=> StreamRef(b)) == std::strong_ordering::equal);
  CHECK(std::hash<StreamRef>{}(b) == std::hash<StreamRef>{}(s));
  CHECK(a != s);  // as any `Ptr`: two objects
}

CASE(TwoStreams, "S12 equality: different handles differ") {
  CHECK(*a != *b);
  CHECK(*b != *a);
  CHECK((*a < *b) != (*b < *a));
  CHECK(*device().default_stream() != *a);
}

TEST_CASE("S12 hash: stable, and good enough to tell streams apart") {
  std::set<std::size_t> hashes;
  const std::vector<StreamPtr> streams = create_streams(64);
  for (const StreamPtr& s : streams) {
    hashes.insert(s->hash());
    CHECK(s->hash() == s->hash());
  }
  CHECK(hashes.size() > 32);
}

TEST_CASE("S12 order: total, so that streams are keys of a map") {
  std::vector<StreamPtr> streams = create_streams(12);
  streams.push_back(device().default_stream());
  std::map<StreamRef, std::size_t> map;
  for (std::size_t i = 0; i < streams.size(); ++i) map.emplace(streams[i], i);
  CHECK(map.size() == streams.size());
  for (std::size_t i = 0; i < 12; ++i) {
    const StreamPtr wrapper = device().wrap_stream(streams[i]->share_native_handle(), Ownership::borrow);
    const auto found = map.find(wrapper);
    REQUIRE(found != map.end());
    CHECK(found->second == i);
  }
  for (const StreamPtr& a : streams) {
    for (const StreamPtr& b : streams) {
      CHECK(((*a < *b) + (*b < *a) + (*a == *b)) == 1);
      for (const StreamPtr& c : streams) {
        if (*a < *b && *b < *c) CHECK(*a < *c);
      }
    }
  }
}

CASE(OneStream, "S12 hash: wrappers of one handle are one key of an unordered map") {
  std::unordered_map<StreamRef, int> map;
  ++map[s];
  const StreamPtr wrapper = device().wrap_stream(s->share_native_handle(), Ownership::borrow),
                  other = device().create_stream();
  ++map[wrapper];
  ++map[other];
  ++map[nullptr];
  CHECK(map.size() == 3);
  CHECK(map[s] == 2);
}

TEST_CASE("S12 order: no stream comes first, and equals no other") {
  const StreamPtr stream = device().default_stream();
  const StreamRef none = nullptr, s = stream;
  CHECK(none == StreamRef(StreamPtr()));
  CHECK(none != s);
  CHECK(s != none);
  CHECK(none < s);
  CHECK_FALSE(s < none);
  CHECK_FALSE(none < StreamRef(nullptr));
}

TEST_CASE("S12 equality: references to other objects compare by address, and with what owns them") {
  const weir::EventPtr a = device().create_event(), b = device().create_event();
  const weir::EventRef ref = a;
  CHECK(ref == weir::EventRef(*a));
  CHECK(ref == a);
  CHECK(ref != b);
  CHECK(ref != nullptr);
  CHECK(weir::EventRef(nullptr) == nullptr);
}

TEST_CASE("S9 S12 equality: a closed stream equals itself alone, also when its handle is used anew") {
  const StreamPtr closed = device().create_stream();
  closed->close();
  CHECK(*closed == *closed);
  const std::vector<StreamPtr> others = create_streams(8);
  for (const StreamPtr& s : others) {
    CHECK(*closed != *s);
    CHECK(*s != *closed);
  }
  CHECK(*closed != *device().default_stream());
  const StreamPtr closed_too = device().create_stream();
  closed_too->close();
  CHECK(*closed != *closed_too);
}

CASE(OneStream, "S13 device: that of the factory, for every kind of stream") {
  CHECK(&s->device() == &device());
  CHECK(&device().default_stream()->device() == &device());
  CHECK(&device().wrap_stream(s->share_native_handle(), Ownership::borrow)->device() == &device());
  CHECK(device() == s->device());
  CHECK(&device().backend() == &backend());
}

TEST_CASE("S13 context: the vendor's, the same for all streams of a device") {
  const StreamPtr a = device().create_stream();
  if (!needs(*a, {Feature::native_context}, [&] { (void)a->native_context(); })) return;
  const StreamPtr b = device().create_stream({.blocking = true});
  CHECK(a->native_context() != nullptr);
  CHECK(a->native_context() == b->native_context());
  CHECK(device().default_stream()->native_context() == a->native_context());
}

TEST_CASE("S14 id: unique for the life of the process, although handles are used again") {
  std::set<std::uint64_t> ids;
  constexpr std::size_t count = 300;
  for (std::size_t i = 0; i < count; ++i) {
    const StreamPtr s = device().create_stream();
    const std::uint64_t id = s->id();
    CHECK(id == s->id());
    ids.insert(id);
  }
  CHECK(ids.size() == count);
  const StreamPtr live = device().create_stream();
  CHECK(live->id() != device().default_stream()->id());
}

CASE(OneStream, "S14 id: the absence of the driver's own has a reason, and ids are there all the same") {
  if (!device().supports(Feature::stream_id)) {
    CHECK_FALSE(device().feature(Feature::stream_id).reason.empty());
    count_refusal();
  }
  CHECK(s->id() == s->id());
}

CASE(OneStream, "S16 print: device and state, in a string and in a stream of text") {
  const std::string text = s->describe();
  CHECK(text.find(device().describe()) != std::string::npos);
  CHECK(text.find("closed") == std::string::npos);
  std::ostringstream out;
  out << *s;
  CHECK(out.str() == s->describe());
  CHECK(s->describe() != device().create_stream()->describe());
  CHECK(device().default_stream()->describe().find("default") != std::string::npos);
  CHECK(device().describe().find(backend().name()) != std::string::npos);
}

CASE(OneStream, "S9 S16 print: a closed stream says so, and printing it is safe") {
  s->close();
  CHECK(s->describe().find("closed") != std::string::npos);
  std::ostringstream out;
  out << *s;
  CHECK(out.str().find(device().describe()) != std::string::npos);
}

CASE(OneStream, "S16 S33 print: a capturing stream says so") {
  if (!needs(*s, {Feature::graph_capture}, [&] { s->begin_capture(); })) return;
  s->begin_capture();
  CHECK(s->describe().find("captur") != std::string::npos);
  (void)s->end_capture();
  CHECK(s->describe().find("captur") == std::string::npos);
}

}  // namespace conformance::identity_cases
