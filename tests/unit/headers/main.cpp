// SPDX-License-Identifier: Apache-2.0

// Calls the parts of the program that the arguments name: PART ENTRY…

#include <cstdio>
#include <string_view>

extern "C" {
void caller_fitting(const char* entry);
void caller_debug_containers(const char* entry);
void caller_other_minor(const char* entry);
void caller_other_patch(const char* entry);
void caller_other_revision(const char* entry);
}

int main(int argc, char** argv) {
  const struct {
    std::string_view name;
    void (*call)(const char*);
  } parts[] = {{"fitting", caller_fitting},
               {"debug_containers", caller_debug_containers},
               {"other_minor", caller_other_minor},
               {"other_patch", caller_other_patch},
               {"other_revision", caller_other_revision}};
  bool found = false;
  for (const auto& part : parts) {
    if (argc < 2 || part.name != argv[1]) continue;
    found = true;
    for (int i = 2; i < argc; ++i) part.call(argv[i]);
  }
  if (!found) std::fputs("there is no such part\n", stderr);
  return found ? 0 : 99;
}
