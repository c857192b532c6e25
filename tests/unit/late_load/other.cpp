// SPDX-License-Identifier: Apache-2.0

// Another library with thread-local variables in the static TLS. It uses 256 bytes of the room.

#define EXPORTED __attribute__((visibility("default")))

EXPORTED __attribute__((tls_model("initial-exec"))) thread_local char taken[256];
extern "C" EXPORTED char take(int i) { return ++taken[i]; }
