// SPDX-License-Identifier: Apache-2.0
// Calls of HIP that are not there: by the rule for names, and one that only HIP has.
#include <hip/hip_runtime.h>

int main() {
  hipImportExternalMemory(nullptr);
  hipModuleLoad(nullptr, "");
}
