// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

/// The state that the stand-in for libamdhip64 keeps for streams, events, captures and graphs. With it, the stand-in detects
/// calls for which AMD's runtime would crash or return wrong results. Then it prints a line to standard error and ends the
/// process.
namespace fake {

using Word = std::uint64_t;  // every parameter of these functions fits in it

extern const int release;  // the release that the library imitates: 602 is 6.2

[[noreturn]] inline void crash(const char* what) {
  std::fprintf(stderr, "the runtime crashes: %s\n", what);
  std::fflush(stderr);
  std::abort();
}

struct Graph;
struct Stream;

struct Node {
  int kind = 0;
  Graph* graph = nullptr;
  void (*function)(void*) = nullptr;
  void* data = nullptr;
};

struct Owned {
  void* pointer = nullptr;
  void (*destroy)(void*) = nullptr;
  int references = 1;
};

struct Graph {
  std::vector<Node*> nodes;
  std::vector<std::pair<Node*, Node*>> edges;
  std::vector<Owned*> owned;
  std::vector<Node*> leaves() const {
    std::vector<Node*> list = nodes;
    std::erase_if(list, [this](Node* node) {
      return std::any_of(edges.begin(), edges.end(), [node](const auto& edge) { return edge.first == node; });
    });
    return list;
  }
};

inline void let_go(Owned* owned) {
  if (--owned->references != 0) return;
  owned->destroy(owned->pointer);
  delete owned;
}

struct Stream {
  int device = 0;
  bool blocking = true;
  Word submitted = 0;                  // number of enqueued operations
  Word done = 0;                       // of these, the number that the program knows to be complete
  std::map<Stream*, Word> waits = {};  // operations of other streams that come before later work of this one
  int policy = 1;                      // hipSynchronizationPolicyAuto

  Stream* origin = nullptr;  // the origin of the capture that the stream is in
  bool is_broken = false;    // the capture that began on this stream was invalidated
  std::thread::id thread = {};  // the thread that began it
  Word capture = 0;
  int mode = 0;
  bool is_invalidated = false;  // invalidated by a capture that has ended
  int begun = 0;                // number of captures since then
  Graph* graph = nullptr;
  bool own_graph = true;
  std::vector<Node*> dependencies = {};
  std::vector<Stream*> parallel = {};  // streams that waited for this one in the capture
};

struct Event {
  bool takes_times = true;
  Stream* stream = nullptr;
  bool of_made_stream = false;
  Word number = 0;
  Word capture = 0;
  std::vector<Node*> nodes = {};
};

struct Exec {
  int device = 0;
  std::vector<Node> nodes = {};
  Stream* last = nullptr;
  Word number = 0;
};

struct World {
  std::mutex mutex;
  std::set<Stream*> living;
  std::set<Stream*> ended;        // never freed, so that no new stream gets the same address
  std::map<Word, Stream*> other;  // by handle: default streams, and streams of other code
  std::set<Exec*> execs;
  Word captures = 0;

  static World& instance() {
    static auto* const world = new World;
    return *world;
  }
  Stream* find(Word handle, int device) {
    auto* const made = reinterpret_cast<Stream*>(handle);
    if (living.contains(made)) return made;
    if (ended.contains(made)) return nullptr;
    Stream*& stream = other[handle];
    if (stream == nullptr) stream = new Stream{.device = device};
    return stream;
  }
  bool was_destroyed(Word handle) const { return ended.contains(reinterpret_cast<Stream*>(handle)); }
  bool is_running(Exec* exec) const {
    return exec->last != nullptr && living.contains(exec->last) && exec->number > exec->last->done;
  }

  /// Returns an open capture of any thread that is not relaxed, or null.
  bool any_strict_capture() const {
    return std::any_of(living.begin(), living.end(), [](const Stream* s) { return s->origin == s && s->mode != 2; });
  }
  bool another_blocking_captures(const Stream* than) const {
    return std::any_of(living.begin(), living.end(), [&](const Stream* s) {
      return s != than && s->blocking && s->origin != nullptr && s->device == than->device && s->capture != than->capture;
    });
  }
  /// Enqueues an operation, or adds it to a capture as a node. Returns the node, or null.
  Node* submit(Stream* stream, int kind) {
    if (stream->origin == nullptr || stream->origin->is_broken) {
      ++stream->submitted;
      return nullptr;
    }
    auto* const node = new Node{.kind = kind, .graph = stream->graph};
    for (Node* before : stream->dependencies) {
      if (before->graph != stream->graph) crash("a node follows one of another graph, of an earlier capture");
      stream->graph->edges.emplace_back(before, node);
    }
    stream->graph->nodes.push_back(node);
    stream->dependencies = {node};
    return node;
  }
  void record(Event* event, Stream* stream, bool keeps_older_nodes) {
    event->stream = stream;
    event->of_made_stream = living.contains(stream);
    event->number = stream->submitted;
    event->capture = stream->capture;
    if (stream->origin != nullptr && !(stream->dependencies.empty() && keeps_older_nodes))
      event->nodes = stream->dependencies;
  }
  void wait(Stream* stream, Event* event) {
    if (event->stream == nullptr) return;
    if (event->of_made_stream && !living.contains(event->stream)) crash("an event is waited for whose stream was destroyed");
    if (event->capture == 0) {
      Word& known = stream->waits[event->stream];
      known = std::max(known, event->number);
      return;
    }
    Stream* const awaited = event->stream;
    if (stream->origin == nullptr) {
      stream->origin = awaited->origin;
      stream->capture = awaited->capture;
      stream->graph = awaited->graph;
      stream->dependencies = event->nodes;
    } else {
      for (Node* node : event->nodes) {
        if (std::find(stream->dependencies.begin(), stream->dependencies.end(), node) == stream->dependencies.end()) {
          stream->dependencies.push_back(node);
        }
      }
    }
    if (stream != stream->origin) awaited->parallel.push_back(stream);
  }
  void launch(Exec* exec, Stream* stream) {
    if (exec->last != nullptr && exec->last != stream && is_running(exec) && stream->waits[exec->last] < exec->number) {
      crash("an executable runs twice at once");
    }
    exec->last = stream;
    exec->number = ++stream->submitted;
  }
  void unload(const char* what) {
    if (std::any_of(execs.begin(), execs.end(), [this](Exec* exec) { return is_running(exec); })) crash(what);
  }
  /// Follows the links between streams as the runtime does; each is visited once, unless they go round in a circle.
  void follow(Stream* stream, std::vector<Stream*>& path) {
    if (std::find(path.begin(), path.end(), stream) != path.end())
      crash("the end of a capture follows its streams without end");
    path.push_back(stream);
    for (Stream* next : stream->parallel) follow(next, path);
    path.pop_back();
  }
  void leave_capture(Word capture) {
    const auto leave = [capture](Stream* s) {
      if (s->capture != capture) return;
      s->origin = nullptr;
      s->is_broken = false;
      s->capture = 0;
      s->graph = nullptr;
      s->dependencies.clear();
      s->parallel.clear();
    };
    for (Stream* s : living) leave(s);
    for (const auto& [handle, s] : other) leave(s);
  }
};

}  // namespace fake
